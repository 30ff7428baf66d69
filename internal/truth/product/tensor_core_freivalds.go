package product

import (
	"math"

	"triad/internal/judge"
	"triad/internal/parallel"
	"triad/internal/truth"
)

// signedBlock holds sums over the covered columns for 128 of K of the second operand; b_jk are its scaled
// values.
type signedBlock struct {
	signed [][]float64 // of every vector: sum_j r_j*b_jk
	sizes  []float64   // sum_j |b_jk|
	gram   [][]float64 // lower triangle of sum_j b_jk*b_jl/w_j
	steps  []float64   // sum_j b_jk^2/w_j of the magnitudes that products are aligned by
}

// freivalds makes the sums that cover rows and columns of the product. No element of T is computed. With a, b
// the scaled operands, s the instructions of 32 along K, P promotion blocks, S_s the partial sum after s
// inside its block and D_s = sum_{k in s} a_k^2*b_jk^2, there with the magnitudes that products are aligned
// by,
//
//	sum_j T_j = kappa*2^-13 * sum_s sum_j M_sj + u32*g(B) * sum_P sum_j |P_j| + 6*u32 * sum_j |R_j|
//
// Cauchy and Schwarz bound each sum over the N columns, for any weights w_j > 0, by sum_j |x_j| <= sqrt(sum_j
// w_j) * |x|, |x|^2 = sum_j x_j^2/w_j; w_j is the norm of column j, so that columns of unlike size lose
// nothing. M_s, a maximum, is at most the root of the sum of squares of its arguments:
//
//	sum_j M_sj <= sqrt(sum_j w_j) * sqrt(|S_{s-1}|^2 + |S_s|^2 + sum_j D_sj/w_j)
//	sum_j |R_j| <= sum_P sum_j |P_j| <= sqrt(sum_j w_j) * sum_P |P|
//
// Within 128 of K, |S|^2 = sum_{k,l} a_k*a_l*G_kl with the Gram matrix G_kl = sum_j b_jk*b_jl/w_j, which does
// not depend on the row: O(128*K) a row. Where a promotion block is longer, norms of its parts of 128 add up
// (Minkowski). The form sum a_k*a_l*G_kl is off in fp64 by less than 2^-36 times its diagonal, since sum
// |a_k*a_l*G_kl| <= 128 * sum_k a_k^2*G_kk; that much is added. The sums under the signs themselves are off
// by (g(N)+g(K))*u64*sum_k |a_k|*sum_j |b_jk|.
func (g *tensorCore) freivalds(m *multiplication, seed uint64, rows, cols []int64) *judge.Freivalds {
	f := m.freivalds(seed, rows, cols)
	if len(rows) == 0 || len(cols) == 0 {
		return f
	}
	signs := judge.SignsOf(seed, cols)
	weights := g.columnNorms(m, cols)
	total := truth.SumOf(len(weights), func(j int) float64 { return weights[j] })
	blocks := make([]signedBlock, ceilDiv(g.a.k, g.scaleBlock))
	parallel.Each(int64(len(blocks)), func(i int64) { blocks[i] = g.signedBlock(m, i, cols, weights, signs) })
	parallel.EachWith(int64(len(rows)), m.newRow, func(a factors, i int64) {
		m.row(g.a, a, rows[i])
		for k := range a.values {
			scale := g.a.scale(rows[i], int64(k)/g.scaleBlock)
			a.values[k] *= scale
			a.seen[k] *= scale
		}
		f.Sums[i], f.ErrorBound[i] = g.signedSums(a, blocks, int64(len(cols)), total)
	})
	return f
}

// columnNorms returns the Euclidean norms of columns of the product's second factor: of scaled rows of the
// operand.
func (g *tensorCore) columnNorms(m *multiplication, cols []int64) []float64 {
	norms := make([]float64, len(cols))
	parallel.EachWith(int64(len(cols)), m.newRow, func(b factors, j int64) {
		for k, x := range m.row(g.b, b, cols[j]).values {
			x *= g.b.scale(cols[j], int64(k)/g.scaleBlock)
			norms[j] += x * x
		}
		norms[j] = math.Sqrt(norms[j])
	})
	return norms
}

// signedBlock adds up one block of K of the second operand.
func (g *tensorCore) signedBlock(m *multiplication, block int64, cols []int64, weights []float64,
	signs [][]float64,
) signedBlock {
	first := block * g.scaleBlock
	n := min(g.scaleBlock, g.b.k-first)
	s := signedBlock{
		signed: make([][]float64, len(signs)), sizes: make([]float64, n),
		gram: make([][]float64, n), steps: make([]float64, n),
	}
	for v := range signs {
		s.signed[v] = make([]float64, n)
	}
	for k := range s.gram {
		s.gram[k] = make([]float64, k+1)
	}
	row := m.room(n)
	for j, col := range cols {
		b := row.values
		g.b.matrix.DecodeRow(b, col, first)
		g.see(g.b, row)
		scale := g.b.scale(col, block)
		for k := range b {
			b[k] *= scale
			s.sizes[k] += math.Abs(b[k])
			if b[k] != 0 {
				aligned := row.seen[k] * scale
				s.steps[k] += aligned * aligned / weights[j]
				truth.Axpy(s.gram[k], b[k]/weights[j], b[:k+1])
			}
		}
		for v := range signs {
			truth.Axpy(s.signed[v], signs[v][j], b)
		}
	}
	return s
}

// signedSums returns a's sums under the signs, and the bound of its sum_j T_j over n columns, whose weights
// add up to weight.
func (g *tensorCore) signedSums(a factors, blocks []signedBlock, n int64, weight float64) (sums []float64,
	errorBound float64,
) {
	sums = make([]float64, judge.Signs)
	var lost, size, absolute, norm float64 // norm is |S| where the block begins
	for i, block := range blocks {
		first := int64(i) * g.scaleBlock
		part := a.part(first, min(first+g.scaleBlock, g.a.k))
		for v := range sums {
			dot, _ := truth.Dots(part.values, block.signed[v])
			sums[v] += dot
		}
		_, sizes := truth.Dots(part.values, block.sizes)
		absolute += sizes
		if first%g.length == 0 {
			norm = 0
		}
		var here float64
		here, lost = block.norms(part, norm, lost)
		norm = here
		if end := min(first+g.scaleBlock, g.a.k); end%g.length == 0 || end == g.a.k {
			size += norm
		}
	}
	const slack = 1 + 0x1p-30 // of the fp64 arithmetic of the bound itself
	bound := math.Sqrt(weight) * (lost*g.kappa*0x1p-13 + (judge.U32*judge.G(g.blocks)+6*judge.U32)*size)
	return sums, slack * (bound + (judge.G(n)+judge.G(g.a.k))*judge.U64*absolute)
}

// norms adds the roots of one part of 128 to lost, and returns the norm of the partial sums at its end;
// before is that at its beginning.
func (s signedBlock) norms(row factors, before, lost float64) (norm, total float64) {
	var form, diagonal float64
	begin, a := before, row.values
	for first := 0; first < len(a); first += mmaStep {
		step := 0.0
		for k := first; k < min(first+mmaStep, len(a)); k++ {
			gram := s.gram[k]
			across, _ := truth.Dots(a[:k], gram[:k])
			square := a[k] * a[k] * gram[k]
			form += 2*a[k]*across + square
			diagonal += square
			step += row.seen[k] * row.seen[k] * s.steps[k]
		}
		norm = begin + math.Sqrt(max(form, 0)+0x1p-36*diagonal)
		lost += math.Sqrt(before*before + norm*norm + step)
		before = norm
	}
	return norm, lost
}
