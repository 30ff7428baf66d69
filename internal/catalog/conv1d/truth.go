// Package conv1d is the truth of a convolution of rows of several channels, and of its gradients.
package conv1d

import (
	"fmt"

	"triad/internal/judge"
	"triad/internal/truth"
	"triad/internal/truth/product"
)

var _ = truth.Register("conv1d", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32"},
})

// sizes are the sizes of a case: filter place l meets x at l*stride + t - padding with tap t.
type sizes struct {
	batch, in, length, out, taps, places, stride, padding int64
}

func sizesOf(k *truth.Request) (sizes, error) {
	x, errX := k.Rank("x", 3)
	w, errW := k.Rank("w", 3)
	if err := truth.FirstError(errX, errW); err != nil {
		return sizes{}, err
	}
	s := sizes{
		batch: x.Shape[0], in: x.Shape[1], length: x.Shape[2], out: w.Shape[0], taps: w.Shape[2],
		stride: int64(k.Attrs.Number("stride")), padding: int64(k.Attrs.Number("padding")),
	}
	if w.Shape[1] != s.in || s.taps > s.length+2*s.padding || s.stride < 1 {
		return s, fmt.Errorf("x has shape %v, w %v, stride %d and padding %d: want as many channels, and a "+
			"place for the filter", x.Shape, w.Shape, s.stride, s.padding)
	}
	s.places = (s.length+2*s.padding-s.taps)/s.stride + 1
	return s, nil
}

// reached returns the range of places, from first up to end, whose tap t lies on an element of x.
func (s sizes) reached(t int64) (first, end int64) {
	if t < s.padding {
		first = (s.padding - t + s.stride - 1) / s.stride
	}
	if last := s.length - 1 + s.padding - t; last >= 0 {
		end = min(s.places, last/s.stride+1)
	}
	return first, end
}

func forward(k *truth.Request) ([]judge.Target, error) {
	s, err := sizesOf(k)
	in, missing := k.Tensors("x", "w", "bias")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	y := product.Rows{A: product.NumbersOf(in[0]), B: product.NumbersOf(in[1]), Terms: s.in * s.taps}
	y.Add = func(out, x, w []float64, row int64) {
		b, o := row/s.out, row%s.out
		for ct := range s.in * s.taps {
			weight, of := w[o*s.in*s.taps+ct], x[(b*s.in+ct/s.taps)*s.length:]
			first, end := s.reached(ct % s.taps)
			at := first*s.stride + ct%s.taps - s.padding
			for l := first; l < end; l++ {
				out[l] += float64(weight * of[at])
				at += s.stride
			}
		}
	}
	if bias := in[2].Float64s(); len(bias) > 0 {
		y.Terms++
		y.Addend = func(row int64) float64 { return bias[row%s.out] }
	}
	return []judge.Target{y.Target(k, "y", in[0].DType, []int64{s.batch, s.out, s.places})}, nil
}

func backward(k *truth.Request) ([]judge.Target, error) {
	s, err := sizesOf(k)
	in, missing := k.Tensors("x", "w", "grad_y")
	if err = truth.FirstError(err, missing, k.Shaped("grad_y", s.batch, s.out, s.places)); err != nil {
		return nil, err
	}
	x, w, dy := product.NumbersOf(in[0]), product.NumbersOf(in[1]), product.NumbersOf(in[2])
	ofX := product.Rows{A: dy, B: w, Terms: s.out * s.taps, Add: s.addToX}
	ofW := product.Rows{A: dy, B: x, Terms: s.batch * s.places, Add: s.addToW}
	ofBias := product.Rows{A: dy, B: product.Ones(len(dy.Values)), Terms: ofW.Terms, Add: s.addToBias}
	biases := int64(0)
	if k.Attrs.Text("with_bias") == "true" {
		biases = s.out
	}
	d := in[0].DType
	return []judge.Target{
		ofX.Target(k, "grad_x", d, in[0].Shape), ofW.Target(k, "grad_w", d, in[1].Shape),
		ofBias.Target(k, "grad_bias", d, []int64{biases}),
	}, nil
}

// addToX adds the gradient of row (b, c) of x.
func (s sizes) addToX(out, dy, w []float64, row int64) {
	b, c := row/s.in, row%s.in
	for o := range s.out {
		of := dy[(b*s.out+o)*s.places:]
		for t := range s.taps {
			weight := w[(o*s.in+c)*s.taps+t]
			first, end := s.reached(t)
			for l := first; l < end; l++ {
				out[l*s.stride+t-s.padding] += float64(weight * of[l])
			}
		}
	}
}

// addToW adds the gradient of row (o, c) of w.
func (s sizes) addToW(out, dy, x []float64, row int64) {
	o, c := row/s.in, row%s.in
	for b := range s.batch {
		of, from := dy[(b*s.out+o)*s.places:], x[(b*s.in+c)*s.length:]
		for t := range s.taps {
			first, end := s.reached(t)
			sum := 0.0
			for l := first; l < end; l++ {
				sum += float64(of[l] * from[l*s.stride+t-s.padding])
			}
			out[t] += sum
		}
	}
}

// addToBias adds the gradient of the whole bias, where there is one.
func (s sizes) addToBias(out, dy, ones []float64, _ int64) {
	for o := range out {
		for b := range s.batch {
			at := (b*s.out + int64(o)) * s.places
			sum, _ := truth.Dots(dy[at:at+s.places], ones[at:at+s.places])
			out[o] += sum
		}
	}
}

// The outputs times their upstream gradients in complex numbers, from which the tests take derivatives.
var _ = truth.RegisterLosses("conv1d", func(k *truth.Request) ([]truth.Loss, error) {
	s, err := sizesOf(k)
	in, missing := k.Values("x", "w", "grad_y")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	bias := 0
	if k.Attrs.Text("with_bias") == "true" {
		bias = int(s.out)
	}
	values := append(in[:2:2], make([]float64, bias)) // any bias will do
	return truth.Partial([]string{"x", "w", "bias"}, values, func(z [][]complex128) complex128 {
		total := complex128(0)
		for i, dy := range in[2] {
			l, o, b := int64(i)%s.places, int64(i)/s.places%s.out, int64(i)/s.places/s.out
			y := complex128(0)
			if bias > 0 {
				y = z[2][o]
			}
			for c := range s.in {
				for t := range s.taps {
					if at := l*s.stride + t - s.padding; at >= 0 && at < s.length {
						y += z[1][(o*s.in+c)*s.taps+t] * z[0][(b*s.in+c)*s.length+at]
					}
				}
			}
			total += complex(dy, 0) * y
		}
		return total
	}), nil
})
