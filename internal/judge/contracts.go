package judge

import (
	"triad/internal/op"
	"triad/internal/tensor"
)

// UnderContracts judges an answer under the operator's default contract and, only where that rejects values,
// under the looser contract that the implementation declares: an output that the looser one accepts is
// DIFFERENT_CONTRACT, or NO_POWER where the looser error bound would accept wrong outputs too. truth returns
// the truth of a contract. Where declared is empty or the default, the default alone decides; nothing excuses
// a wrong shape, a race or a missing truth.
func UnderContracts(plan Plan, answer Answer, truth func(contract string) (Truth, error), standard,
	declared string,
) []Verdict {
	verdicts := Judge(plan, answer, truthOrNone(truth, standard))
	if declared == "" || declared == standard || !anyValueRejected(verdicts) {
		return verdicts
	}
	looser := truthOrNone(truth, declared)
	for i, v := range Judge(plan, answer, looser) {
		if !valueRejected(verdicts[i]) {
			continue
		}
		switch v.Status {
		case op.StatusPass, op.StatusWarn:
			if power := PowerOf(looser.Outputs[i], tensor.Tensor{}, nil); power.None {
				v.Status, v.Sentence = op.StatusNoPower, "accepted under "+declared+", but so would be: "+
					power.Why
				verdicts[i] = v
				continue
			}
			v.Sentence = "passes under " + declared + "; under " + standard + " " + verdicts[i].Sentence
			v.Status, v.Gate = op.StatusDifferentContract, verdicts[i].Gate
			verdicts[i] = v
		default:
			verdicts[i] = v
			verdicts[i].Sentence = "under " + declared + ": " + v.Sentence
		}
	}
	return verdicts
}

// truthOrNone returns the truth of a contract, or where there is none a truth that judges nothing: every
// output is then INCONCLUSIVE.
func truthOrNone(truth func(string) (Truth, error), contract string) Truth {
	t, err := truth(contract)
	if err != nil {
		return Truth{Contract: contract, Missing: err.Error()}
	}
	return t
}

// valueRejected reports whether an output fails for its values, which a looser contract may excuse.
func valueRejected(v Verdict) bool { return v.Status == op.StatusFail && v.Gate != "G0" }

func anyValueRejected(verdicts []Verdict) bool {
	for _, v := range verdicts {
		if valueRejected(v) {
			return true
		}
	}
	return false
}
