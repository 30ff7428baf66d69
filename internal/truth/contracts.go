package truth

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
)

// Contract is an implementation's promise about its arithmetic. The error bound T and the simulated result
// follow from these fields alone; no tolerance is entered by hand.
type Contract struct {
	Name        string
	Accumulator string   // the format of sums
	Stores      []string // intermediates that may be rounded to the dtype of the case
	Approximate string   // approximations that are allowed

	LowWeights bool  // attention: P, and in the backward P and dS, stored in the dtype
	LowProduct bool  // softmax backward: p*dy stored in the dtype
	EveryStep  bool  // every intermediate of the written composition stored in the dtype
	TF32       bool  // fp32 operands of products read as tf32, low bits dropped or rounded
	SumBlock   int64 // fp8: how much of K the tensor core sums before fp32 takes over; 0: all of it
	// fp8: truncation of the tensor core's adder, in units of 2^-13 of the largest term; 0: sums are fp32
	Kappa float64

	Bits        bool // bits are compared: -0 is not +0
	FlushToZero bool // fp32 and bf16 results below 2^-126 may become zero
	Saturate    bool // overflow saturates to the largest finite number instead of infinity
	// the same inputs give the same bits, unless an implementation declares otherwise for an output
	Deterministic bool
}

// fastMath is allowed everywhere: T covers it in every row of the error bound table.
const fastMath = "exp, reciprocal and square root to a few units of 2^-24 of the result"

// contracts is the list of every contract, the strict one first.
var contracts = []Contract{
	{
		Name:        "fp32",
		Accumulator: "fp32", Approximate: fastMath, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "stored",
		Accumulator: "fp32", Stores: []string{"what the reference marks as rounded"}, Approximate: fastMath,
		FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "p16",
		Accumulator: "fp32", Stores: []string{"P", "dS"}, Approximate: fastMath, LowWeights: true,
		FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "promoted",
		Accumulator: "13 bits below the largest term within 128 of K, then fp32", Approximate: "none",
		SumBlock: 128, Kappa: judge.KappaPromoted, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "fast",
		Accumulator: "13 bits below the largest term", Approximate: "none", Kappa: judge.KappaFast,
		FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "product16",
		Accumulator: "fp32", Stores: []string{"p*dy"}, Approximate: fastMath, LowProduct: true,
		FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "tf32",
		Accumulator: "fp32", Stores: []string{"operands of products, in tf32"}, Approximate: fastMath,
		TF32: true, FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "eager",
		Accumulator: "fp32", Stores: []string{"every intermediate"}, Approximate: fastMath, EveryStep: true,
		FlushToZero: true, Deterministic: true,
	},
	{
		Name:        "exact",
		Accumulator: "none", Approximate: "none", Bits: true, Deterministic: true,
	},
}

// Promise returns the contract's promise in words.
func (k Contract) Promise() string {
	for _, c := range op.Contracts {
		if c.Name == k.Name {
			return c.Promise
		}
	}
	return ""
}

// The permitted words of a contract: an error bound is written for each of these, and for nothing else.
var (
	accumulators = []string{
		"none", "fp32", "13 bits below the largest term",
		"13 bits below the largest term within 128 of K, then fp32",
	}
	storable = []string{
		"P", "dS", "p*dy", "operands of products, in tf32", "every intermediate",
		"what the reference marks as rounded",
	}
	approximable = []string{fastMath, "none"}
)

// Check returns an error for an entry of a contract that no error bound is written for: an unknown word, or a
// number that is negative, NaN or infinite, which would disarm the gates.
func (k Contract) Check() error {
	refuse := func(entry string, value any, want any) error {
		return fmt.Errorf("check contract %q: %s = %v: want %v", k.Name, entry, value, want)
	}
	var names []string
	for _, c := range op.Contracts {
		names = append(names, c.Name)
	}
	switch {
	case !slices.Contains(names, k.Name):
		return refuse("name", k.Name, fmt.Sprint("one of ", names))
	case !slices.Contains(accumulators, k.Accumulator):
		return refuse("accumulator", k.Accumulator, fmt.Sprintf("one of %q", accumulators))
	case !slices.Contains(approximable, k.Approximate):
		return refuse("approximations", k.Approximate, fmt.Sprintf("one of %q", approximable))
	case !(k.Kappa >= 0 && k.Kappa <= math.MaxFloat64):
		return refuse("kappa", k.Kappa, "a finite number of at least 0")
	case k.SumBlock < 0:
		return refuse("sum block", k.SumBlock, "0 for the whole sum, or a number of terms")
	case k.Bits && (k.Accumulator != "none" || k.FlushToZero || k.Saturate):
		return refuse("bits", k.Bits, "a contract without sums, flushing and saturation")
	case k.SumBlock > 0 && k.Kappa == 0:
		return refuse("sum block", k.SumBlock, "0 where sums are fp32 (kappa = 0)")
	}
	for _, s := range k.Stores {
		if !slices.Contains(storable, s) {
			return refuse("stores", s, fmt.Sprintf("of %q", storable))
		}
	}
	return nil
}

// ContractNamed returns the contract called name, after checking its entries.
func ContractNamed(name string) (Contract, error) {
	for _, k := range contracts {
		if k.Name == name {
			return k, k.Check()
		}
	}
	names := make([]string, len(contracts))
	for i, k := range contracts {
		names[i] = k.Name
	}
	return Contract{}, fmt.Errorf("contract %q: want one of %v", name, names)
}
