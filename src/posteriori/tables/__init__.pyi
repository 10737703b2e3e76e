from posteriori.tables.conditional_table import ConditionalTable as ConditionalTable
from posteriori.tables.derivation import Derivation as Derivation, Step as Step
from posteriori.tables.event_algebra import Event as Event
from posteriori.tables.joint_table import (
    JointTable as JointTable,
    diagnostic_test as diagnostic_test,
)
