package nsa_top_blocks

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/truth/truthtest"
)

// variants differ in the order of sums, in which of equal blocks comes first, in whether weights are divided
// by their total or have lse in the exponent (Other), and in their fast functions.
var variants = []truthtest.Arithmetic{
	{Order: truthtest.InLanes},
	{Order: truthtest.InSequence, Form: lastOfEqual, Other: true},
	{Order: truthtest.InLanes, Noisy: true, Other: true},
	{Order: truthtest.InSequence, Form: lastOfEqual, Noisy: true},
}

// lastOfEqual is the form of a kernel that takes the last of equal blocks first.
const lastOfEqual = 1

var suites = []truthtest.Suite{
	{Op: "nsa_top_blocks", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: mutants()},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

func mutants() (all truthtest.Mutants) {
	all.Add(nil,
		"the smallest are chosen", "the chosen rise", "the chosen stand in the order of blocks",
		"own block not forced", "a block that has not begun", "0 for none", "none comes first",
		"last place not written", "a block twice", "one block later", "first block not looked at",
		"last head of a group alone", "first head of a group alone", "logits are added up",
		"the weakest head decides", "heads take turns", "keys of another head", "keys of the next sequence",
		"no scale", "scale of the wrong sign", "indices by heads first", "indices of the token before")
	all.Add(truthtest.Only("forced", "first_own_previous"), "first block not forced",
		"block before the own not forced", "no block but the own forced")
	all.Add(truthtest.Only("forced", "own"), "always three blocks forced")
	return all
}

// choosing is one case in fp32 with the arithmetic of a kernel.
type choosing struct {
	truthtest.Arithmetic
	q, k                                      []float64
	batch, seq, heads, headsKV, group, blocks int
	n, size, selected                         int
	scale                                     float32
	near                                      bool
}

func choosingOf(a truthtest.Arithmetic, p *truthtest.Prepared) *choosing {
	q, k := p.In["q"], p.In["k"]
	t := &choosing{
		Arithmetic: a, q: p.V["q"], k: p.V["k"], batch: int(q.Shape[0]), seq: int(q.Shape[1]),
		heads: int(q.Shape[2]), headsKV: int(k.Shape[2]), blocks: int(k.Shape[1]), n: int(q.Shape[3]),
		size: int(p.Attrs.Number("block_size")), selected: int(p.Attrs.Number("selected")),
		scale: float32(p.Attrs.Number("scale")), near: p.Attrs.Text("forced") != "own",
	}
	t.group = t.heads / t.headsKV
	switch a.Bug {
	case "no scale":
		t.scale = 1
	case "scale of the wrong sign":
		t.scale = -t.scale
	case "no block but the own forced":
		t.near = false
	case "always three blocks forced":
		t.near = true
	}
	return t
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	t := choosingOf(a, p)
	out := make([]float64, t.batch*t.seq*t.headsKV*t.selected)
	for row := range t.batch * t.seq * t.headsKV {
		b, i, h := row/t.headsKV/t.seq, row/t.headsKV%t.seq, row%t.headsKV
		at := row
		if a.Bug == "indices by heads first" {
			at = (b*t.headsKV+h)*t.seq + i
		}
		if a.Bug == "indices of the token before" {
			i = max(i-1, 0)
		}
		copy(out[at*t.selected:], t.chosen(b, i, h))
	}
	return [][]float64{out}
}

func (t *choosing) score(b, i, g, c int) float32 {
	h, from := g/t.group, b
	switch t.Bug {
	case "heads take turns":
		h = g % t.headsKV
	case "keys of another head":
		h = (h + 1) % t.headsKV
	case "keys of the next sequence":
		from = (b + 1) % t.batch
	}
	q, k := t.q[((b*t.seq+i)*t.heads+g)*t.n:], t.k[((from*t.blocks+c)*t.headsKV+h)*t.n:]
	return float32(t.Sum(t.n, func(x int) float64 { return truthtest.F32(q[x] * k[x]) })) * t.scale
}

// importance returns the scores of the blocks 0 to own of a query.
func (t *choosing) importance(b, i, h int) []float32 {
	own, seen := i/t.size, (i+1)/t.size
	sum := make([]float32, own+1)
	for g := h * t.group; g < (h+1)*t.group; g++ {
		last, first := g == (h+1)*t.group-1, g == h*t.group
		if t.Bug == "last head of a group alone" && !last ||
			t.Bug == "first head of a group alone" && !first {
			continue
		}
		s := make([]float32, seen)
		most, total := float32(math.Inf(-1)), float32(0)
		for c := range s {
			s[c] = t.score(b, i, g, c)
			most = max(most, s[c])
		}
		for _, x := range s {
			total += t.Weight(x - most)
		}
		for c, x := range s {
			p := float32(t.Fast(float64(t.Weight(x-most) / total)))
			if t.Other {
				p = t.Weight(x - (most + float32(math.Log(float64(total)))))
			}
			switch {
			case t.Bug == "logits are added up":
				sum[c] += x
			case t.Bug == "the weakest head decides" && !first:
				sum[c] = min(sum[c], p)
			default:
				sum[c] += p
			}
		}
	}
	for c := range sum {
		sum[c] /= float32(t.group)
		forced := c == own && t.Bug != "own block not forced" ||
			t.near && (c == 0 && t.Bug != "first block not forced" ||
				c == own-1 && t.Bug != "block before the own not forced")
		if forced {
			sum[c] = 1
		}
	}
	return sum
}

// chosen returns the places of a row.
func (t *choosing) chosen(b, i, h int) []float64 {
	score := t.importance(b, i, h)
	order := make([]int, len(score))
	for c := range order {
		order[c] = c
	}
	slices.SortFunc(order, func(x, y int) int {
		tie := x - y
		if t.Form == lastOfEqual {
			tie = -tie
		}
		if t.Bug == "the smallest are chosen" {
			return cmp.Or(cmp.Compare(score[x], score[y]), tie)
		}
		return cmp.Or(cmp.Compare(score[y], score[x]), tie)
	})
	if t.Bug == "first block not looked at" && len(order) > 1 {
		order = slices.DeleteFunc(order, func(c int) bool { return c == 0 })
	}
	order = order[:min(len(order), t.selected)]
	switch t.Bug {
	case "the chosen rise":
		slices.Reverse(order)
	case "the chosen stand in the order of blocks":
		slices.Sort(order)
	case "a block twice":
		order[len(order)-1] = order[0]
	}
	places := slices.Repeat([]float64{-1}, t.selected)
	for p, c := range order {
		places[p] = float64(c)
		if t.Bug == "one block later" {
			places[p] = float64((c + 1) % t.blocks)
		}
	}
	last := len(order)
	switch {
	case t.Bug == "last place not written":
		places[t.selected-1] = truthtest.Unwritten
	case last == t.selected:
	case t.Bug == "a block that has not begun":
		places[last] = float64(len(score))
	case t.Bug == "0 for none":
		places[last] = 0
	case t.Bug == "none comes first":
		places = append(places[last:], places[:last]...)
	}
	return places
}
