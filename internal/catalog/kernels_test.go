package catalog

import (
	"fmt"
	"math"
	"os"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// rightKernel runs the emulated fp32 kernels of the other test files on a case: in as the truth gets them, the outputs in the order of the
// spec. order chooses the order of the sums.
func rightKernel(c op.Case, in map[string]tensor.Tensor, order int) [][]float64 {
	v := map[string][]float64{}
	for name, t := range in {
		v[name] = t.Float64s()
	}
	backward, own := c.Pass == op.Backward, c.Saved == "own"
	switch c.Op {
	case "softmax":
		return softmaxKernel(c, v, in, order)
	case "layernorm":
		return layernormKernel(c, v, in, order)
	case "swiglu":
		n := len(v["gate"])
		g, up, dy := v["gate"], v["up"], v["grad_y"]
		if !backward {
			return [][]float64{zip(n, func(i int) float64 { return swiglu32(g[i], up[i]) })}
		}
		return [][]float64{
			zip(n, func(i int) float64 { return swigluGate32(dy[i], g[i], up[i]) }), zip(n, func(i int) float64 { return swiglu32(g[i], dy[i]) }),
		}
	case "rope":
		names, sign := []string{"q", "k"}, 1.0
		if backward {
			names, sign = []string{"grad_q_out", "grad_k_out"}, -1
		}
		var out [][]float64
		for _, name := range names {
			shape := in[name].Shape
			s := ropeShape{batch: shape[0], seq: shape[1], dim: shape[3], offset: int64(c.Attrs.Number("offset"))}
			out = append(out, rope32(v[name], v["cos"], v["sin"], s, shape[2], c.Attrs.Number("interleaved") != 0, sign, f32))
		}
		return out
	case "fp8_gemm":
		product := func(a, sa, b, sb string) []float64 {
			scaling := c.Attrs.Text("scaling")
			add := inFP32
			if order == 1 {
				add = truncating
			}
			return fp8Kernel(in[a].Shape[0], in[b].Shape[0], in[a].Shape[1], 128, v[a], v[b], scaleOf(scaling, in[sa], in[sb]), add)
		}
		if backward {
			return [][]float64{product("g", "scale_g", "bt", "scale_bt"), product("gt", "scale_gt", "at", "scale_at")}
		}
		return [][]float64{product("a", "scale_a", "b", "scale_b")}
	}
	q, k := in["q"], in["k"]
	kernel := attentionKernel{
		attentionShape: attentionShape{q.Shape[0], q.Shape[1], k.Shape[1], q.Shape[2], k.Shape[2], q.Shape[3]},
		causal:         c.Attrs.Number("causal") != 0, scale: c.Attrs.Number("scale"), weight: f32, lowAfter: order == 2,
	}
	if q.DType != op.FP32 && order > 0 {
		kernel.weight = func(x float64) float64 { return tensor.Round(q.DType, x, false) }
	}
	if !backward {
		o, lse := kernel.forward(v["q"], v["k"], v["v"])
		return [][]float64{o, lse}
	}
	o, lse := v["o"], v["lse"]
	if own {
		o, lse = kernel.forward(v["q"], v["k"], v["v"])
		o = roundedTo(q.DType, o)
	}
	dq, dk, dv := kernel.backward(v["q"], v["k"], v["v"], o, lse, v["grad_o"])
	return [][]float64{dq, dk, dv}
}

func softmaxKernel(c op.Case, v map[string][]float64, in map[string]tensor.Tensor, order int) [][]float64 {
	first := in["x"]
	if c.Pass == op.Backward {
		first = in["grad_y"]
	}
	rows, cols := first.Shape[0], first.Shape[1]
	return [][]float64{byRows(rows, cols, func(r int64) []float64 {
		a, b := r*cols, (r+1)*cols
		if c.Pass == op.Forward {
			return softmax32(order, v["x"][a:b])
		}
		if c.Saved == "own" {
			return softmaxBackward32(order, roundedTo(first.DType, softmax32(order, v["x"][a:b])), v["grad_y"][a:b])
		}
		return softmaxBackward32(order, v["y"][a:b], v["grad_y"][a:b])
	})}
}

func layernormKernel(c op.Case, v map[string][]float64, in map[string]tensor.Tensor, order int) [][]float64 {
	rows, cols := int(in["x"].Shape[0]), int(in["x"].Shape[1])
	if c.Pass == op.Forward || c.Saved == "own" {
		dy, bias := v["grad_y"], v["bias"]
		if dy == nil {
			dy = make([]float64, rows*cols)
		}
		forward, backward := layernormAnswer(order, c.Attrs.Number("eps"), rows, cols, [][]float64{v["x"], v["weight"], bias, dy}, false)
		if c.Pass == op.Forward {
			return forward
		}
		return backward
	}
	var dx, xhats []float64
	for r := range rows {
		g, xhat := layernormBackward32(order, v["x"][r*cols:(r+1)*cols], v["weight"], v["grad_y"][r*cols:(r+1)*cols], v["mean"][r], v["rstd"][r])
		dx, xhats = append(dx, g...), append(xhats, xhat...)
	}
	dweight, dbias := make([]float64, cols), make([]float64, cols)
	for i := range cols {
		dweight[i] = sum32(order, rows, func(r int) float64 { return f32(v["grad_y"][r*cols+i] * xhats[r*cols+i]) })
		dbias[i] = sum32(order, rows, func(r int) float64 { return v["grad_y"][r*cols+i] })
	}
	return [][]float64{dx, dweight, dbias}
}

// TestRightKernelsPassEveryCase: no false alarm on any case of the level, whatever the order of the sums.
func TestRightKernelsPassEveryCase(t *testing.T) {
	level := op.LevelDefault
	if testing.Short() {
		level = op.LevelQuick
	}
	seeds := uint64(1)
	if text := os.Getenv("TRIAD_SEEDS"); text != "" { // more of them: make test-long
		fmt.Sscan(text, &seeds)
	}
	for _, o := range All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			plan, err := o.Spec.Expand(op.Options{Level: level})
			if err != nil {
				t.Fatal(err)
			}
			judgements, warnings := 0, 0
			headroom := math.Inf(1)
			for seed := range seeds {
				for n, c := range plan.Cases {
					list := caseInputs(t, o.Spec, c, 100+seed)
					in := map[string]tensor.Tensor{}
					for _, x := range list {
						in[x.Name] = x
					}
					truth, err := TruthOf(c, o.Spec.DefaultContract(c.DType), list, nil)
					if err != nil {
						t.Error(err)
						continue
					}
					order := (n + int(seed)) % 3
					for _, v := range judged(truth, rightKernel(c, in, order)...) {
						judgements++
						switch v.Status {
						case op.StatusWarn:
							warnings++
						case op.StatusPass, op.StatusEmptyOK:
						default:
							t.Errorf("%s %s %s %v %v %s %s %s order %d: %v %s: %s, R %v, T %v", c.Op, c.Pass, c.DType, c.Dims, c.Attrs, c.Distribution, c.Upstream, c.Saved,
								order, v.Status, v.Gate, v.Sentence, v.Worst.R, v.Worst.T)
						}
						headroom = math.Min(headroom, v.Headroom)
					}
				}
			}
			t.Logf("%d judgements, %d warnings, least headroom %.3g", judgements, warnings, headroom)
			if warnings*50 > judgements {
				t.Errorf("%d warnings in %d judgements", warnings, judgements)
			}
		})
	}
}
