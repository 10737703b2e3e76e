"""Pictures of the posterior of a model: marginals, numbers two by two, data against what is expected."""
