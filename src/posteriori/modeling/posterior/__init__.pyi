from posteriori.inference.weighing.reliability import in_words as in_words
from posteriori.modeling.posterior.account import make_account as make_account
from posteriori.modeling.posterior.arviz_export import to_arviz as to_arviz
from posteriori.modeling.posterior.checked_blocks import check_reliability as check_reliability
from posteriori.modeling.posterior.messages import make_messages as make_messages
from posteriori.modeling.posterior.prediction import joint as joint, predict as predict
from posteriori.modeling.posterior.remedies import find_remedy as find_remedy
from posteriori.modeling.posterior.storage import save_posterior as save_posterior
from posteriori.modeling.posterior.summaries import (
    html_of as html_of,
    marginals as marginals,
    summary as summary,
)
from posteriori.modeling.posterior.updating import update as update
