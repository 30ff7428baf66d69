package catalog

import (
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
)

// Contract is what an implementation promises about its arithmetic. The allowance T and the simulated result follow from these fields
// alone; no tolerance is typed anywhere.
type Contract struct {
	Name        string
	Accumulator string   // what sums are kept in
	Stores      []string // intermediates that may be rounded to the dtype of the case
	Approximate string   // approximations that are allowed

	LowWeights bool    // attention: P, and in the backward P and dS, stored in the dtype
	LowProduct bool    // softmax backward: p*dy stored in the dtype
	EveryStep  bool    // every intermediate of the written composition stored in the dtype
	TF32       bool    // fp32 operands of products rounded to tf32
	SumBlock   int64   // fp8: how much of K the tensor core sums before fp32 takes over; 0: all of it
	Kappa      float64 // fp8: truncation of the tensor core's adder, in units of 2^-13 of the largest term; 0: sums are fp32

	FlushToZero   bool // fp32 and bf16 results below 2^-126 may become zero
	Saturate      bool // overflow gives the largest finite number instead of infinity
	Deterministic bool // the same inputs give the same bits, unless an implementation declares otherwise for an output
}

// fastMath is allowed everywhere: what T covers in every row of the allowance table.
const fastMath = "exp, reciprocal and square root to a few units of 2^-24 of the result"

// contracts is the list of every contract, the strict one first.
var contracts = []Contract{
	{
		Name:        "fp32",
		Accumulator: "fp32", Approximate: fastMath, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "stored",
		Accumulator: "fp32", Stores: []string{"what the reference marks as rounded"}, Approximate: fastMath, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "p16",
		Accumulator: "fp32", Stores: []string{"P", "dS"}, Approximate: fastMath, LowWeights: true, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "promoted",
		Accumulator: "13 bits below the largest term within 128 of K, then fp32", Approximate: "none",
		SumBlock: 128, Kappa: judge.KappaPromoted, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "fast",
		Accumulator: "13 bits below the largest term", Approximate: "none", Kappa: judge.KappaFast, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "product16",
		Accumulator: "fp32", Stores: []string{"p*dy"}, Approximate: fastMath, LowProduct: true, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "tf32",
		Accumulator: "fp32", Stores: []string{"operands of products, in tf32"}, Approximate: fastMath, TF32: true, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "eager",
		Accumulator: "fp32", Stores: []string{"every intermediate"}, Approximate: fastMath, EveryStep: true, FlushToZero: true, Deterministic: true,
	},
}

// Promise is what the contract promises, in words.
func (k Contract) Promise() string {
	for _, c := range op.Contracts {
		if c.Name == k.Name {
			return c.Promise
		}
	}
	return ""
}

// Contracts lists every contract, the strict one first.
func Contracts() []Contract { return slices.Clone(contracts) }

// ContractNamed gives the contract called name.
func ContractNamed(name string) (Contract, error) {
	for _, k := range contracts {
		if k.Name == name {
			return k, nil
		}
	}
	names := make([]string, len(contracts))
	for i, k := range contracts {
		names[i] = k.Name
	}
	return Contract{}, fmt.Errorf("contract %q: want one of %v", name, names)
}
