package judge

import (
	"fmt"
	"math"
	"sync"
)

// Version names every constant and error bound: a test compares them with a recorded list. It is stored with
// every verdict, so that old results can be judged again when one changes. docs/judge.md has its history.
const Version = "22"

// Unit roundoffs: half the distance between 1 and the next number.
const (
	U32  = 0x1p-24
	UTF  = 0x1p-10 // tf32 whose operands lose their low bits: the distance, not half of it
	U64  = 0x1p-53
	Tiny = 0x1p-126 // smallest normal fp32 and bf16 number: smaller ones may be flushed to zero
)

// Constants of the error model.
const (
	// sumLambda is the lambda of the probabilistic bound lambda*sqrt(n)*u on a sum's rounding error (Higham
	// and Mary 2019): at 8 the chance that one element exceeds it is below 2*exp(-32).
	sumLambda = 8.0
	// sumTruncation is one truncated add for every k-step of 16, for tensor cores that round toward zero.
	sumTruncation = 1.0 / 16
	// sumExtra covers the few operations around a sum.
	sumExtra = 4.0

	// KappaFast and KappaPromoted are the permitted loss of a k-step of Hopper's fp8 tensor core, in units of
	// 2^-13 of the largest aligned product: each of 32 products and the accumulator is truncated to 13 bits
	// below the largest. Measured on an H200: 33 is the bound, no alarm down to 16.5 (whole K) and 8
	// (promoted every 128); on an H100 cuBLASLt and Triton, promoted, lose 22.4 next to an outlier.
	KappaFast     = 24.0
	KappaPromoted = 24.0

	// rmsFactor, rmsNoise: an implementation may be half again as noisy as the simulated contract, plus the
	// sampling noise of the ratio of two root mean squares of n elements, 4 standard deviations of about
	// 1/sqrt(n).
	rmsFactor = 1.5
	rmsNoise  = 4.0
	// rmsShare is the share of TFP32 that is added: T bounds single elements, its root mean square lies
	// well below.
	rmsShare = 0.5
	// minBlock is the smallest number of elements whose root mean square is a statistic.
	minBlock = 64
	// tile is the edge of the blocks of G4: the smallest tile a kernel loses as a whole.
	tile = 16

	// biasSigmas: 8 standard deviations never occur by chance.
	biasSigmas = 8.0
	// biasSpread: the slope is evaluated only where at least this many elements carry the sum of R squared.
	biasSpread = 256.0
)

// G returns the growth of rounding error in a sum of n terms, in units of the accumulator's roundoff: min(n,
// 8*sqrt(n) + n/16) + 4.
func G(n int64) float64 {
	x := float64(n)
	return math.Min(x, sumLambda*math.Sqrt(x)+sumTruncation*x) + sumExtra
}

// GRounded returns G for sums that round to nearest, outside tensor cores: min(n, 8*sqrt(n)) + 4.
func GRounded(n int64) float64 {
	x := float64(n)
	return math.Min(x, sumLambda*math.Sqrt(x)) + sumExtra
}

// checkConstants rejects a constant that would disarm a gate: one that is not finite and positive.
var checkConstants = sync.OnceValue(func() error {
	return finitePositive(map[string]float64{
		"sum_lambda": sumLambda, "sum_truncation": sumTruncation, "sum_extra": sumExtra,
		"kappa_fast":     KappaFast,
		"kappa_promoted": KappaPromoted, "rms_factor": rmsFactor, "rms_noise": rmsNoise,
		"rms_allowance": rmsShare,
		"min_block":     minBlock, "tile": tile, "bias_sigmas": biasSigmas, "bias_spread": biasSpread,
		"u32":    U32,
		"u_tf32": UTF, "u64": U64, "tiny": Tiny,
	})
})

func finitePositive(constants map[string]float64) error {
	for name, v := range constants {
		if !(v > 0 && v <= math.MaxFloat64) {
			return fmt.Errorf("check the judge's constants: %s = %v: want a finite, positive number", name, v)
		}
	}
	return nil
}
