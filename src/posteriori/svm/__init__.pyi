from posteriori.svm.linear_support import (
    LinearSupportVectorClassifier as LinearSupportVectorClassifier,
)
from posteriori.svm.one_class import OneClassSupportVector as OneClassSupportVector
from posteriori.svm.support_classifier import (
    SupportVectorClassifier as SupportVectorClassifier,
)
from posteriori.svm.support_regressor import SupportVectorRegressor as SupportVectorRegressor
from posteriori.svm.two_classes import (
    InseparableError as InseparableError,
    TwoClassMachine as TwoClassMachine,
)
