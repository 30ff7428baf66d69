package truth

// For the tests of all operators: they import the operators' packages, and so cannot be part of this one.
var (
	Truths       = truths
	Losses       = losses
	ContractList = contracts
)
