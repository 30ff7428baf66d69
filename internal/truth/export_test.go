package truth

// What the tests of all operators look into: they import the operators' packages, and so cannot be part of
// this one.
var (
	Truths       = truths
	Losses       = losses
	ContractList = contracts
)
