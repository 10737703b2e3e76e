from posteriori.tables.derivation import Derivation as Derivation, Step as Step
from posteriori.tables.diagnosis import diagnostic_test as diagnostic_test
from posteriori.tables.event_algebra import Event as Event
from posteriori.tables.joint_table import (
    ConditionalTable as ConditionalTable,
    JointTable as JointTable,
)
