package sparse

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// gradients is the backward of one case, from the operator's inputs and grad_o.
type gradients struct {
	*sparse
	do         tensor.Tensor
	gQ         float64 // growth of sums over rows
	dq, dk, dv judge.Target
	dg         [branches]judge.Target
	rows       map[int64]int64   // the places of the judged rows; nil: all, in order
	keys       map[int64][]int64 // by key head: the rising places of its judged keys
}

// mostParts is the number of parts that the rows of a key head are divided into. It is fixed, so that sums do
// not depend on the machine.
const mostParts = 4

// mostPairs is the largest number of pairs, times head_dim, that are worth computing for sampled keys.
const mostPairs = 1 << 31

// SelectedGradients returns the truth of grad_q, grad_k, grad_v, grad_g_slc and grad_g_swa. In each branch
// delta = sum(grad_o * o), which is the gradient of its gate, may be computed as sum_j P_j*dP_j too:
//
//	T_delta = sum_c |dO_c|*(T_o + u32*(g(Dv)+g(keys))*w)
//
// and as in flash_attention, with eps_b = eps + sum_j P_j*eps_j + u32*g(keys) and g the gate,
//
//	T_P  = |g|*(P*(eps_b + u_P) + 2*u32*(1 + eps_b)*P) + eta*max(|g|, 1)
//	T_dS = |g|*scale*(P*(2*eps_b*|dP - delta| + (1 + eps_b)*(u32*g(Dv)*|dO|.|v| + T_delta))
//	       + (u_P*P + eta)*|dP - delta| + 2^-126*|dP - delta| + 2^-149) + 3*u32*(|dS| + this)
//	       + u_P*|dS| + eta*max(1, scale, |g|*scale)      the terms with u_P and eta where stored low
//	dV: (T_P + u32*g(rows)*|g|*P)^T |dO|
//	dQ: (T_dS + u32*g(keys)*|dS|) |K|                     dK: the same transposed, with |Q| and g(rows)
//
// and (1+scale)*2^-149 a pair for products below the normal range. A row whose grad_o is 0 adds nothing.
func SelectedGradients(k *truth.Request) ([]judge.Target, error) {
	s, err := sparseOf(k)
	if err != nil {
		return nil, err
	}
	b := &gradients{sparse: s, gQ: k.Growth(branches * s.tokens * (s.heads / s.headsKV))}
	if err := k.Shaped("grad_o", s.batch, s.tokens, s.heads, s.nV); err != nil {
		return nil, err
	}
	b.do, _ = k.Tensor("grad_o")
	b.choose(k)
	for h := range s.batch * s.headsKV {
		b.head(h/s.headsKV, h%s.headsKV)
	}
	out := []judge.Target{b.dq, b.dk, b.dv, b.dg[0], b.dg[1]}
	few := s.few() || s.tokens*(s.heads/s.headsKV) < fewRows
	lost := truth.Subnormal * (1 + math.Abs(s.scale)) * branches * float64(s.tokens*s.heads)
	for i := range out {
		s.statistics(&out[i], few)
		for x, t := range out[i].T[:len(out[i].R)] {
			if t > 0 {
				out[i].T[x] += lost
				out[i].TFP32[x] += lost
			}
		}
		truth.RoundRow(out[i].Sim, out[i].Sim, out[i].DType)
	}
	return out, nil
}

// choose chooses the judged rows, and the judged keys of as many heads as mostPairs allows.
func (b *gradients) choose(k *truth.Request) {
	rows := k.Sample.Choose(b.batch * b.tokens * b.heads)
	b.dq = k.Target("grad_q", b.d, []int64{b.batch, b.tokens, b.heads, b.n}, rows)
	for i, name := range []string{"grad_g_slc", "grad_g_swa"} {
		b.dg[i] = k.Target(name, b.d, []int64{b.batch * b.tokens * b.heads, 1}, rows)
		b.dg[i].Shape = []int64{b.batch, b.tokens, b.heads}
	}
	if rows != nil {
		b.rows = map[int64]int64{}
		for i, row := range rows {
			b.rows[row] = int64(i)
		}
	}
	heads := b.batch * b.headsKV
	keys := k.Sample.Columns().Choose(heads * b.tokens)
	if keys != nil {
		pairs := float64(b.heads/b.headsKV) * float64(b.tokens) * float64(b.n) *
			float64(min(b.blocks*b.size, b.tokens)+b.window)
		most := min(max(1, int64(mostPairs/max(pairs, 1))), heads)
		keys = k.Sample.Columns().Within(heads, b.tokens, most)
		for i, key := range keys { // from heads first to tokens first
			head, j := key/b.tokens, key%b.tokens
			keys[i] = (head/b.headsKV*b.tokens+j)*b.headsKV + head%b.headsKV
		}
		slices.Sort(keys)
	}
	b.dk = k.Target("grad_k", b.d, []int64{b.batch, b.tokens, b.headsKV, b.n}, keys)
	b.dv = k.Target("grad_v", b.d, []int64{b.batch, b.tokens, b.headsKV, b.nV}, keys)
	if keys == nil {
		keys = truth.Rest(nil, heads*b.tokens)
	}
	b.keys = map[int64][]int64{}
	for i, key := range keys {
		head := key/b.headsKV/b.tokens*b.headsKV + key%b.headsKV
		b.keys[head] = append(b.keys[head], int64(i))
	}
}

// sums are the gradients that one part of a head's rows adds to its judged keys.
type sums struct{ keys, values truth.Row }

// head adds what the rows of one key head add. slots are the places of its judged keys among those of the
// head, by token, -1 for the others.
func (b *gradients) head(batch, h int64) {
	wanted := b.keys[batch*b.headsKV+h]
	slots := slices.Repeat([]int64{-1}, int(b.tokens))
	for slot, place := range wanted {
		slots[truth.PlaceOf(b.dk.Index, place*b.n)/b.n/b.headsKV%b.tokens] = int64(slot)
	}
	group, head := b.heads/b.headsKV, b.keyHead(batch, h)
	var parts [mostParts]sums
	parallel.Each(mostParts, func(p int64) {
		n := int64(len(wanted))
		parts[p] = sums{truth.NewRow(n * b.n), truth.NewRow(n * b.nV)}
		m := new(query)
		for i := p; i < b.tokens*group; i += mostParts {
			row := (batch*b.tokens+i/group)*b.heads + h*group + i%group
			place := row
			if judged, ok := b.rows[row]; ok || b.rows == nil {
				if ok {
					place = judged
				}
			} else {
				place = -1
			}
			if place >= 0 || b.touches(row, slots) {
				b.row(m, head, row, place, slots, parts[p])
			}
		}
	})
	for _, x := range parts {
		for slot, place := range wanted {
			truth.RowOf(b.dk, place, b.n).Add(x.keys.Part(int64(slot), b.n))
			truth.RowOf(b.dv, place, b.nV).Add(x.values.Part(int64(slot), b.nV))
		}
	}
}

// touches reports whether a row sees a judged key.
func (b *gradients) touches(row int64, slots []int64) bool {
	for _, keys := range b.seen(row) {
		if slices.ContainsFunc(keys, func(j int64) bool { return slots[j] >= 0 }) {
			return true
		}
	}
	return false
}

// row adds one row's part to the judged keys, and where place is not -1 fills its gradients.
func (b *gradients) row(m *query, head keyHead, row, place int64, slots []int64, to sums) {
	m.do = resized(m.do, b.nV)
	b.do.DecodeRow(m.do, row, 0)
	if truth.AllZero(m.do) {
		return
	}
	b.weigh(m, head, row)
	for i := range m.of {
		x := &m.of[i]
		if len(x.keys) == 0 {
			continue
		}
		d := b.delta(x, m.do)
		if place >= 0 {
			b.dg[i].R[place], b.dg[i].T[place] = d.R, d.Off
			b.dg[i].TFP32[place], b.dg[i].Sim[place] = d.OffFP32, d.Sim
		}
		if x.gate == 0 {
			continue
		}
		for c, j := range x.keys {
			slot := slots[j]
			if slot < 0 && place < 0 {
				continue
			}
			p, ds := b.pair(x, c, d, m.do, head.v[j*b.nV:(j+1)*b.nV])
			if place >= 0 {
				add(truth.RowOf(b.dq, place, b.n), ds, judge.U32*b.gK, head.k[j*b.n:(j+1)*b.n])
			}
			if slot >= 0 {
				add(to.keys.Part(slot, b.n), ds, judge.U32*b.gQ, m.q)
				add(to.values.Part(slot, b.nV), p, judge.U32*b.gQ, m.do)
			}
		}
	}
}

// number is one value with its error bounds and as the contract has it.
type number struct{ R, Off, OffFP32, Sim float64 }

// add adds a number times x, in a sum whose error is sum times its terms.
func add(to truth.Row, w number, sum float64, x []float64) {
	truth.Axpy(to.R, w.R, x)
	truth.Axpy(to.Sim, w.Sim, x)
	truth.AxpyAbs(to.T, w.Off+sum*math.Abs(w.R), x)
	truth.AxpyAbs(to.TFP32, w.OffFP32+sum*math.Abs(w.R), x)
}

func (b *gradients) delta(x *branch, do []float64) (d number) {
	for c, g := range do {
		d.R += float64(g * x.o.R[c])
		d.Sim += float64(g * x.o.Sim[c])
		sum := judge.U32 * (b.gV + b.gK) * x.w[c]
		d.Off += truth.Weighted(math.Abs(g), x.o.T[c]+sum)
		d.OffFP32 += truth.Weighted(math.Abs(g), x.o.TFP32[c]+sum)
	}
	return d
}

// pair returns g*P and g*scale*dS of the c-th key of a branch.
func (b *gradients) pair(x *branch, c int, delta number, do, v []float64) (weight, ds number) {
	dp, dpAbs := truth.Dots(do, v)
	g, p, scale := math.Abs(x.gate), x.p[c], math.Abs(b.scale)
	eps := math.Expm1(math.Min(b.exponentError(x, c), 300)) + x.spread + judge.U32*b.gK
	off := math.Min(truth.Weighted(p, eps), 1) + truth.Revived(p, x.s[c]-x.lse, 2*x.shift)
	stored := b.stored(p)
	common := g*off + 2*judge.U32*g*(p+off)
	weight = number{
		R: x.gate * p, Off: common + g*truth.Weighted(p, b.uP) + b.eta*math.Max(g, 1),
		OffFP32: common + g*truth.Weighted(p, judge.U32) + judge.Tiny*math.Max(g, 1), Sim: x.gate * stored,
	}
	apart := dp - delta.R
	size := math.Abs(apart)
	ds.R = x.gate * b.scale * p * apart
	ds.Sim = x.gate * b.scale * b.stored(stored*(dp-delta.Sim))
	error := func(offDelta float64) float64 {
		products := judge.U32*b.gV*dpAbs + offDelta
		t := g * scale * (2*off*size + truth.Weighted(p+off, products) + judge.Tiny*size + truth.Subnormal)
		return t + 3*judge.U32*(math.Abs(ds.R)+t)
	}
	ds.Off, ds.OffFP32 = error(delta.Off), error(delta.OffFP32)
	if b.rules.LowWeights {
		ds.Off += g * scale * (truth.Weighted(p, b.uP) + b.eta) * size
		ds.Off += b.uP*(math.Abs(ds.R)+ds.Off) + b.eta*math.Max(1, math.Max(scale, g*scale))
	}
	return weight, ds
}
