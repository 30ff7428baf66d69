package truth_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestContractsAreProven: every shipped contract is sound; one with an entry that no error bound is written
// for is rejected in a sentence that names the entry.
func TestContractsAreProven(t *testing.T) {
	for _, k := range contracts(t) {
		if err := k.Check(); err != nil {
			t.Error(err)
		}
	}
	for want, change := range map[string]func(k *truth.Contract){
		`kappa = -1: want a finite number of at least 0`:   func(k *truth.Contract) { k.Kappa = -1 },
		`kappa = NaN: want a finite number of at least 0`:  func(k *truth.Contract) { k.Kappa = math.NaN() },
		`kappa = +Inf: want a finite number of at least 0`: func(k *truth.Contract) { k.Kappa = math.Inf(1) },
		`sum block = -128: want 0`:                         func(k *truth.Contract) { k.SumBlock = -128 },
		`sum block = 128: want 0 where sums are fp32`:      func(k *truth.Contract) { k.Kappa = 0 },
		`accumulator = fp16: want one of`: func(k *truth.Contract) {
			k.Accumulator = "fp16"
		},
		`approximations = tanh: want one of`: func(k *truth.Contract) {
			k.Approximate = "tanh"
		},
		`stores = Q: want of`: func(k *truth.Contract) {
			k.Stores = []string{"P", "Q"}
		},
		`name = loose: want one of`: func(k *truth.Contract) { k.Name = "loose" },
	} {
		k, err := truth.ContractNamed("promoted")
		if err != nil {
			t.Fatal(err)
		}
		change(&k)
		if err := k.Check(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `check contract "`+k.Name+`"`) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

// TestABadContractGivesNoTruth: a contract with a bad entry has no truth: nothing can be judged under it.
func TestABadContractGivesNoTruth(t *testing.T) {
	i := slices.IndexFunc(op.Contracts, func(k op.ContractName) bool { return k.Name == "fast" })
	kept := op.Contracts[i]
	defer func() { op.Contracts[i] = kept }()
	op.Contracts[i].Name = "other"
	_, err := truth.Of(op.Case{Op: "fp8_gemm", Pass: op.Forward}, "fast", nil, nil)
	if err == nil || !strings.Contains(err.Error(), `check contract "fast": name = fast`) {
		t.Errorf("%v", err)
	}
}

// TestTruthsThatCannotJudgeAreRefused: invalid truths: NaN or infinity that no input declares, or a T, TFP32
// or sim that does not fit R. Each is rejected with the operator's name before anything is judged.
func TestTruthsThatCannotJudgeAreRefused(t *testing.T) {
	const name = "rope" // its spec has the dtypes and tensors; its truth is replaced
	x := truthtest.Literal("x", op.FP32, []float64{1, 2, 3, 4}, 2, 2)
	of := func(change func(t *judge.Target)) error {
		kept := truth.Register(name, truth.Definition{
			Permits: []string{"fp32"},
			Forward: func(k *truth.Request) ([]judge.Target, error) {
				y := k.Target("y", op.FP32, []int64{2, 2}, nil)
				copy(y.R, []float64{1, 2, 3, 4})
				copy(y.Sim, y.R)
				change(&y)
				return []judge.Target{y}, nil
			},
		})
		defer truth.Register(name, kept)
		_, err := truth.Of(op.Case{Op: name, Pass: op.Forward, Distribution: "normal"}, "fp32",
			[]tensor.Tensor{x}, nil)
		return err
	}
	if err := of(func(*judge.Target) {}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(y *judge.Target){
		"y is NaN at element 1":                      func(y *judge.Target) { y.R[1] = math.NaN() },
		"y is -Inf at element 2":                     func(y *judge.Target) { y.R[2] = math.Inf(-1) },
		"R has 3 elements: want 4":                   func(y *judge.Target) { y.R = y.R[1:] },
		"T has 3 elements: want 4":                   func(y *judge.Target) { y.T = y.T[1:] },
		"TFP32 has 5 elements: want 4":               func(y *judge.Target) { y.TFP32 = append(y.TFP32, 0) },
		"sim has 0 elements: want 4":                 func(y *judge.Target) { y.Sim = nil },
		"element [1 0]: R = 3, T = +Inf":             func(y *judge.Target) { y.T[2] = math.Inf(1) },
		"element [1 0]: R = 3, T = NaN":              func(y *judge.Target) { y.T[2] = math.NaN() },
		"element [1 0]: R = 3, T = -1":               func(y *judge.Target) { y.T[2] = -1 },
		"element [0 1]: R = 2, T = 0, TFP32 = +Inf":  func(y *judge.Target) { y.TFP32[1] = math.Inf(1) },
		"element 1 of y: R = 2, T = 0, sim = NaN":    func(y *judge.Target) { y.Sim[1] = math.NaN() },
		"element 1 of y: R = 2, T = 0, sim = +Inf":   func(y *judge.Target) { y.Sim[1] = math.Inf(1) },
		"element [0 1] of an exact case: T = 0.25":   func(y *judge.Target) { y.Exact, y.T[1] = true, 0.25 },
		"sampled position 9: want rising positions ": func(y *judge.Target) { y.Index = []int64{0, 1, 2, 9} },
	} {
		if err := of(change); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
