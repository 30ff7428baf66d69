package judgeloop

import (
	"fmt"
	"strconv"
	"strings"
)

// torchTypes names the dtypes of inputs as torch does.
var torchTypes = map[string]string{
	"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "i64": "int64",
	"i32": "int32", "i8": "int8", "u8": "uint8", "bool": "bool",
}

const (
	mostInputs = 16
	mostRank   = 6
)

func (in *Input) isInteger() bool { return !strings.Contains(in.DType, "f") }

func (in *Input) check() error {
	if _, known := torchTypes[in.DType]; !known {
		return fmt.Errorf(`the "dtype" is %q: want one of fp64, fp32, fp16, bf16, i64, i32, i8, u8, bool`,
			in.DType)
	}
	if len(in.Shape) > mostRank {
		return fmt.Errorf(`the "shape" has %d sizes: want at most %d`, len(in.Shape), mostRank)
	}
	for _, n := range in.Shape {
		if n < 1 || n > 1<<40 {
			return fmt.Errorf(`the "shape" has a size of %d: want at least 1`, n)
		}
	}
	limited := in.Low != nil && in.High != nil
	switch {
	case in.DType == "bool":
	case in.isInteger() && (!limited || *in.Low >= *in.High):
		return fmt.Errorf(`integers need "low" and "high", the first number above those that are drawn`)
	case !in.isInteger() && (in.Low != nil || in.High != nil) &&
		(!limited || *in.Low != 0 || *in.High != 1):
		return fmt.Errorf(`"low" and "high" of %s: want 0 and 1, or neither for normal numbers`, in.DType)
	}
	return nil
}

// draws returns the expression that draws an input; its sizes are constants of the file.
func (in *Input) draws(sizes []string) string {
	shape := strings.Join(sizes, ", ")
	dtype := "dtype=torch." + torchTypes[in.DType]
	switch {
	case in.DType == "bool":
		return fmt.Sprintf("torch.randint(0, 2, [%s]).bool()", shape)
	case in.isInteger():
		return fmt.Sprintf("torch.randint(%d, %d, [%s], %s)", int64(*in.Low), int64(*in.High), shape,
			dtype)
	case in.Low != nil:
		return fmt.Sprintf("torch.rand([%s]).to(%s)", shape, dtype)
	}
	return fmt.Sprintf("torch.randn([%s]).to(%s)", shape, dtype)
}

// problemText returns a problem in the format of KernelBench whose model calls the reference. Equal sizes
// have one constant, so that they are varied together.
func problemText(reference, function string, inputs []Input) string {
	var b strings.Builder
	b.WriteString(reference + "\n\nimport torch\n\n")
	names := map[int64]string{}
	var drawn, parameters []string
	for i, in := range inputs {
		var sizes []string
		for _, n := range in.Shape {
			if names[n] == "" {
				names[n] = "size_" + strconv.Itoa(len(names))
				fmt.Fprintf(&b, "%s = %d\n", names[n], n)
			}
			sizes = append(sizes, names[n])
		}
		parameters = append(parameters, "x"+strconv.Itoa(i))
		drawn = append(drawn, in.draws(sizes))
	}
	all := strings.Join(parameters, ", ")
	fmt.Fprintf(&b, `

class Model(torch.nn.Module):
    def forward(self, %s):
        return %s(%s)


def get_inputs():
    return [%s]


def get_init_inputs():
    return []
`, all, function, all, strings.Join(drawn, ", "))
	return b.String()
}

// calling returns the text of a candidate whose class ModelNew calls a function of it.
func calling(candidate, function string) string {
	return candidate + fmt.Sprintf(`

import torch as _torch


class ModelNew(_torch.nn.Module):
    def forward(self, *tensors):
        return %s(*tensors)
`, function)
}
