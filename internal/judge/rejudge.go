package judge

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/op"
)

// Constants are the numbers of one version from which a stored verdict can be decided again.
type Constants struct {
	Version              string
	Factor, Noise, Share float64 // of G4: see rmsLimit
	MinBlock             int64
	Sigmas, Spread       float64 // of G5

	// Low and High bound the change of the error bounds: every T and TFP32 is between Low and High times its
	// value in the version before.
	Low, High float64
	Fewer     []string // gates that apply to fewer outputs than in the version before
	// OtherReach: the error bound of G5 is another quantity than in the version before, of which it is only
	// known that it is not negative.
	OtherReach bool
	// Contracts are those whose error bounds the version changed; nil: all.
	Contracts []string
	// DTypes are those of the outputs whose error bounds the version changed; nil: all.
	DTypes []op.DType
}

// versions are all versions in their order, the last being the one in force. Where a change of error bounds
// has no bounds, High is infinite.
var versions = []Constants{
	{
		Version: "1", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
	},
	// version 1 had several states
	{
		Version: "2", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256, Low: 0,
		High: math.Inf(1),
	},
	{
		Version: "3", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
		Fewer: []string{"G4", "G5"},
	},
	{
		Version: "4", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, OtherReach: true,
	},
	{
		Version: "5", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: math.Inf(1), OtherReach: true, Contracts: []string{"tf32"},
	},
	{
		Version: "6", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: math.Inf(1), Contracts: []string{"fp32"}, DTypes: []op.DType{op.FP16, op.BF16},
	},
	{
		Version: "7", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, Fewer: []string{"G4", "G5"},
	},
	// the simulated values of "eager" changed too, so that its error bounds cannot be compared
	{
		Version: "8", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 0, High: math.Inf(1),
		Contracts: []string{"eager", "tf32"},
	},
	{
		Version: "9", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, Fewer: []string{"G4", "G5"}, Contracts: []string{"stored"},
	},
	// the simulated values of "stored" changed too
	{
		Version: "10", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 0, High: math.Inf(1),
		Contracts: []string{"stored"}, DTypes: []op.DType{op.FP16, op.BF16},
	},
	// the simulated values of "tf32" changed too
	{
		Version: "11", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 0, High: math.Inf(1),
		Contracts: []string{"p16", "eager", "tf32"},
	},
	// where NaN is a second right answer, the first is not required
	{
		Version: "12", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, Fewer: []string{"G1"},
		Contracts: []string{"fp32", "stored"},
	},
	// no error bound where fp32 represents the result
	{
		Version: "13", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 0, High: 1,
		Contracts: []string{"fp32", "eager", "stored"},
	},
	{
		Version: "14", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, Fewer: []string{"G4", "G5"},
		Contracts: []string{"stored"},
	},
	// inputs alone
	{
		Version: "15", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
	},
	{
		Version: "16", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, Fewer: []string{"G4"},
		Contracts: []string{"stored"},
	},
	// other inputs, and a contract that imported problems permit
	{
		Version: "17", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
	},
	// inputs alone
	{
		Version: "18", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
	},
	// inputs, and what the emulator leaves in variables that nobody sets
	{
		Version: "19", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
	},
	{
		Version: "20", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1, Fewer: []string{"G4"},
	},
	// what lies around a buffer
	{
		Version: "21", Factor: 1.5, Noise: 4, Share: 0.5, MinBlock: 64, Sigmas: 8, Spread: 256,
		Low: 1, High: 1,
	},
	// inputs alone
	{
		Version: "22", Factor: rmsFactor, Noise: rmsNoise, Share: rmsShare, MinBlock: minBlock,
		Sigmas: biasSigmas, Spread: biasSpread, Low: 1, High: 1,
	},
}

// constantsOf returns the constants of a version, and those of a later one with the changes of the error
// bounds since, for verdicts on outputs of a dtype under a contract.
func constantsOf(all []Constants, from, to, contract string, d op.DType) (then, now Constants, err error) {
	first := slices.IndexFunc(all, func(c Constants) bool { return c.Version == from })
	last := slices.IndexFunc(all, func(c Constants) bool { return c.Version == to })
	if first < 0 || last < first {
		return then, now, fmt.Errorf("version %q is not known, or later than version %s", from, to)
	}
	then, now = all[first], all[last]
	now.Low, now.High, now.Fewer, now.OtherReach = 1, 1, nil, false
	for _, step := range all[first+1 : last+1] {
		if step.DTypes != nil && !slices.Contains(step.DTypes, d) ||
			step.Contracts != nil && !slices.Contains(step.Contracts, contract) {
			continue
		}
		now.Low *= step.Low
		now.High *= step.High
		now.Fewer = append(now.Fewer, step.Fewer...)
		now.OtherReach = now.OtherReach || step.OtherReach
	}
	return then, now, nil
}

// Decision is the result of a stored verdict under other constants.
type Decision struct {
	Decided bool // the stored figures suffice
	Status  op.Status
	Gate    string // as in a Verdict; G2 may stand for G1
	Why     string // in a sentence
}

// Rejudge decides a verdict again, from its stored figures alone, under the constants in force. It does not
// check again whether the case has power.
func Rejudge(v Verdict) Decision {
	then, now, err := constantsOf(versions, v.Version, Version, v.Contract, v.DType)
	if err != nil {
		return undecided(v, err.Error())
	}
	return decideAgain(v, then, now)
}

func undecided(v Verdict, why string) Decision {
	return Decision{Status: v.Status, Gate: v.Gate, Why: why}
}

func decided(status op.Status, gate, why string) Decision {
	return Decision{Decided: true, Status: status, Gate: gate, Why: why}
}

// decideAgain applies the gates again whose figures a verdict keeps.
func decideAgain(v Verdict, then, now Constants) Decision {
	gates := v.Gate == "G1" || v.Gate == "G2" || v.Gate == "G4" || v.Status == op.StatusPass ||
		v.Status == op.StatusWarn
	errorBounds := now.Low != 1 || now.High != 1
	switch {
	case v.Status == op.StatusNoPower || v.Status == op.StatusDifferentContract || v.Gate == "G6":
		if errorBounds || len(now.Fewer) > 0 {
			return undecided(v, "power, other contracts and relations need the outputs")
		}
		return decided(v.Status, v.Gate, "no error bound changed")
	case !gates || v.Status == op.StatusRace || v.Status == op.StatusUnknown:
		return decided(v.Status, v.Gate, "no constant has a part in it")
	case v.Digest == "":
		return undecided(v, "it keeps no figures")
	}
	d := v.elementsAgain(now)
	if d.Decided && d.Status == op.StatusPass {
		d = v.blocksAgain(then, now)
	}
	if !d.Decided || d.Status != op.StatusPass {
		if slices.Contains(now.Fewer, d.Gate) {
			return undecided(v, d.Gate+" may not be asked of it any more")
		}
		return d
	}
	rejected := v.Status == op.StatusFail
	if rejected && v.Expected > len(v.Relations) || errorBounds && (len(v.Relations) > 0 || v.Covered > 0) {
		return undecided(v, "relations and sums over what a sample leaves out need the outputs")
	}
	if d := v.slopeAgain(now); d.Status == op.StatusWarn && slices.Contains(now.Fewer, "G5") {
		return undecided(v, "G5 may not be asked of it any more")
	} else if d.Status != op.StatusPass {
		return d
	}
	return decided(op.StatusPass, "", "every gate accepts what it keeps")
}

// elementsAgain applies G2 again: T is between Low and High times its former value. An element rejected under
// the largest T is rejected. The elements that are not kept are accepted where they were and no T is smaller,
// or where no error came near: |y-R| <= used*(T + ulp/2) with used <= Low/2 lies within Low*T and a quarter
// of an ulp, the least distance of a midpoint to a neighbour.
func (v Verdict) elementsAgain(now Constants) Decision {
	g := gridOf(Target{DType: v.DType, Saturate: v.Saturate, FTZ: v.FTZ, Bits: v.Bits})
	kept := int64(0) // rejected elements of before that are kept, and accepted now
	for _, e := range v.Worst16 {
		low, high := now.Low*e.T, now.High*e.T
		if v.Exact || v.Bits {
			low, high = 0, 0
		}
		if high <= math.MaxFloat64 && !g.accepts(e.Got, e.R, high) {
			return decided(op.StatusFail, gateOf(Target{Exact: v.Exact}, e),
				fmt.Sprintf("%s is %s, the truth is %s", place(v.Output, e.Index), numberOf(v.DType, e.Got),
					numberOf(v.DType, e.R)))
		}
		if !g.accepts(e.Got, e.R, low) {
			return undecided(v, place(v.Output, e.Index)+
				" is accepted by the largest of the error bounds that it may have, and not by the smallest")
		}
		if !g.accepts(e.Got, e.R, e.T) {
			kept++
		}
	}
	if v.Wrong > kept {
		return undecided(v, fmt.Sprintf("%d of %d rejected elements are not kept", v.Wrong-kept, v.Wrong))
	}
	measured := int64(0)
	for _, n := range v.ULPs {
		measured += n
	}
	if now.Low < 1 && !v.Exact && !v.Bits && measured < v.Compared {
		return undecided(v,
			"error bounds are smaller, and an infinity may have been accepted beside the overflow threshold")
	}
	if now.Low < 1 && !v.Exact && !v.Bits && !(2*v.Used() <= now.Low) {
		return undecided(v, fmt.Sprintf("error bounds are smaller, and the largest error is %s of error "+
			"bound and half an ulp", number(v.Used())))
	}
	return decided(op.StatusPass, "", "")
}

// Used returns the largest |y-R| / (T + half an ulp of y): the inverse of the error margin.
func (v Verdict) Used() float64 { return 1 / v.ErrorMargin }

// blocksAgain applies G4 again. No block that is not kept had a larger share of its limit than the last kept
// one.
func (v Verdict) blocksAgain(then, now Constants) Decision {
	if !v.Independent {
		return decided(op.StatusPass, "", "")
	}
	if now.MinBlock < then.MinBlock {
		return undecided(v, fmt.Sprintf("blocks of %d elements were not looked at", now.MinBlock))
	}
	if len(v.Blocks) == 0 {
		return decided(op.StatusPass, "", "")
	}
	for _, b := range v.Blocks {
		if b.N < now.MinBlock {
			continue
		}
		smallest, largest := now, now
		smallest.Share *= now.Low
		largest.Share *= now.High
		if limit := rmsLimit(b, largest); limit <= math.MaxFloat64 && !(b.Error <= limit) {
			return decided(op.StatusFail, "G4", fmt.Sprintf("%s is noisier than its contract in %s",
				v.Output, b.Block))
		}
		if !(b.Error <= rmsLimit(b, smallest)) {
			return undecided(v, "the error of "+b.Block+
				" lies between what the smallest and the largest error bound accept")
		}
	}
	if v.Blocks[0].Blocks <= len(v.Blocks) {
		return decided(op.StatusPass, "", "")
	}
	// The limit of any block is at least this share of its former value: 1/sqrt(N) lies between 0 and
	// 1/sqrt(MinBlock), or that of the errors that decide it.
	root := math.Sqrt(float64(then.MinBlock))
	if errors := v.Blocks[0].Errors; errors > 0 {
		root = min(root, math.Sqrt(errors))
	}
	shrunk := math.Min(now.Factor/then.Factor*math.Min(1, (1+now.Noise/root)/(1+then.Noise/root)),
		now.Share*now.Low/then.Share)
	if last := v.Blocks[len(v.Blocks)-1]; !(last.share() <= shrunk) {
		return undecided(v, fmt.Sprintf("limits shrink, and %d blocks are not kept",
			v.Blocks[0].Blocks-len(v.Blocks)))
	}
	return decided(op.StatusPass, "", "")
}

// slopeAgain applies G5 again.
func (v Verdict) slopeAgain(now Constants) Decision {
	b := v.Bias
	if !v.Independent || !(b.Spread >= now.Spread) {
		return decided(op.StatusPass, "", "")
	}
	// Its error bound rises with every TFP32, by steps: a rounding boundary comes within reach or does not.
	least, most := b.ErrorBound, b.ErrorBound
	if now.OtherReach || now.Low < 1 {
		least = 0
	}
	if now.OtherReach || now.High > 1 {
		most = math.Inf(1)
	}
	if limit := now.Sigmas*b.Sigma + most; limit <= math.MaxFloat64 && !(math.Abs(b.Slope) <= limit) {
		return decided(op.StatusWarn, "G5", fmt.Sprintf("the error of %s has the slope %s along the truth",
			v.Output, number(b.Slope)))
	}
	if !(math.Abs(b.Slope) <= now.Sigmas*b.Sigma+least) {
		return Decision{
			Why: "the slope of G5 lies between what the smallest and the largest error bound accept",
		}
	}
	return decided(op.StatusPass, "", "")
}
