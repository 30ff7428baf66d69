package moe

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/truthtest"
)

// only returns why a bug shows nothing in a group: it shows only where weights are normalised, or only where
// they are not.
func only(value, why string) func(g truthtest.Group) string {
	return func(g truthtest.Group) string {
		if g.Value == value {
			return ""
		}
		return why
	}
}

// beyondFP16 returns why a bug that needs large logits shows nothing in a group.
func beyondFP16(g truthtest.Group) string {
	if g.Dtype == "fp16" {
		return "where what experts store fits fp16, no exponential of a logit overflows"
	}
	return ""
}

var (
	normalised    = only("true", "weights are not normalised")
	notNormalised = only("false", "weights are normalised")
	// fp32 throughout, in several orders; with the permitted values stored in 16 bits
	right = []truthtest.Arithmetic{
		{Order: truthtest.InLanes},
		{Order: truthtest.InSequence},
		{Order: truthtest.InLanes, Noisy: true},
		{Order: truthtest.InLanes, LowP: true},
		{Order: truthtest.InSequence, LowP: true},
	}
)

var suites = []truthtest.Suite{
	{
		Op: "moe", Pass: op.Forward, Right: right, Kernel: emulated,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "not divided by the sum of the weights", Equivalent: normalised},
			{Number: 2, Name: "divided by the sum of the weights", Equivalent: notNormalised},
			{Number: 3, Name: "the worst are chosen"},
			{Number: 4, Name: "the chosen rise"},
			{Number: 5, Name: "logits in 16 bits"},
			{Number: 6, Name: "logits added in 16 bits"},
			{Number: 7, Name: "gate and up exchanged"},
			{Number: 8, Name: "silu missing"},
			{Number: 9, Name: "sigmoid for silu"},
			{Number: 10, Name: "gelu for silu"},
			{Number: 11, Name: "weights missing"},
			{Number: 12, Name: "expert off by one"},
			{Number: 13, Name: "last expert left out"},
			{Number: 14, Name: "tokens beyond a capacity dropped"},
			{Number: 15, Name: "last tokens of an expert lost"},
			{Number: 16, Name: "every choice has the weight of the first"},
			{Number: 17, Name: "tail of hidden not summed"},
			{Number: 18, Name: "tail of the router not summed"},
			{Number: 19, Name: "down transposed"},
			{Number: 20, Name: "low-precision accumulator"},
			{Number: 21, Name: "experts added in 16 bits"},
			{Number: 22, Name: "row of the pair for the token's"},
			{Number: 23, Name: "weights of the next token"},
			{Number: 24, Name: "no maximum subtracted", Equivalent: beyondFP16},
			{Number: 25, Name: "choice of the first token for all"},
			{Number: 26, Name: "an expert twice"},
			{Number: 27, Name: "tail of a row not written"},
			{Number: 28, Name: "last choice left out"},
			{Number: 29, Name: "weight of its square"},
		},
	},
	{
		Op: "moe", Pass: op.Backward, Right: right, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 40, Name: "grad_x without the router"},
			{Number: 41, Name: "grad_x without up"},
			{Number: 42, Name: "grad_x of the last choice alone"},
			{Number: 43, Name: "mean of the weights' gradients not subtracted"},
			{Number: 44, Name: "gradient of the logits without the weight"},
			{Number: 45, Name: "slope of silu is sigmoid"},
			{Number: 46, Name: "gradient of hidden without the weight"},
			{Number: 47, Name: "grad_down without the weight"},
			{Number: 48, Name: "grad_gate and grad_up exchanged"},
			{Number: 49, Name: "last token of an expert lost"},
			{Number: 50, Name: "experts not chosen get no gradient of the router", Equivalent: notNormalised},
			{Number: 51, Name: "gradient of the router as if not normalised", Equivalent: normalised},
			{Number: 52, Name: "low-precision accumulator"},
			{Number: 53, Name: "experts without tokens not written"},
			{Number: 54, Name: "tail of a row not written"},
			{Number: 55, Name: "tokens beyond a capacity dropped"},
			{Number: 56, Name: "grad_up with g for silu"},
			{Number: 57, Name: "last token lost in grad_router"},
			{Number: 58, Name: "first choice alone in grad_router"},
			{Number: 59, Name: "expert off by one"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
