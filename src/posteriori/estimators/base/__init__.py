"""What all estimators are built on: constructors that name the parameter that is meant."""
