package ownfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/shim"
)

// What a caller says behind the include in words that a macro of the file may have taken is taken back first:
// every word there is C++'s, CUDA's, triad's, the file's own name of a function, or taken back.
func TestMacrosOfTheFileDoNotReachTheCaller(t *testing.T) {
	word, text := regexp.MustCompile(`\b[A-Za-z_]\w*`), regexp.MustCompile(`"[^"]*"|/\*.*?\*/|//.*|#.*`)
	usual := regexp.MustCompile(`^(triad|TRIAD|cuda|__|u?int\d+_t$|static|const|return|switch|case|break|` +
		`for|if|else|int$|void$|float$|double$|unsigned|char$|bool$|true$|false$|nullptr$|size_t$|extern$|` +
		`visibility$|dim3$|std$|half$|auto$|sizeof$|reinterpret_cast$|template$|typename$|long$|short$|signed$|u$|accepts_\d)`)
	left, taken := map[string]string{}, append(strings.Fields(shim.OwnWords), "solve")
	shims := 0
	for _, o := range catalog.All() {
		var parameters []string
		for _, tensor := range o.Spec.InputSpecs {
			parameters = append(parameters, "const float *"+tensor.Name)
		}
		for _, tensor := range o.Spec.OutputSpecs {
			parameters = append(parameters, "float *"+tensor.Name)
		}
		for _, d := range o.Spec.Dims {
			parameters = append(parameters, "int "+d.Name)
		}
		list := strings.Join(parameters, ", ")
		for _, file := range []string{
			"void solve(" + list + ") {}\n",
			"__global__ void solve(" + list + ") { int i = blockIdx.x * blockDim.x + threadIdx.x; }\n",
		} {
			all, err := Bind(cfacts.ReadCUDA(file), binding.Request{}, o.Spec, []op.Pass{op.Forward},
				binding.Options{})
			if err != nil {
				continue
			}
			shims++
			_, tail, _ := strings.Cut(shim.CUDAShim("mine.cu", "mine", all), "#undef main\n")
			for line := range strings.Lines(tail) {
				for _, w := range word.FindAllString(text.ReplaceAllString(line, ""), -1) {
					if !usual.MatchString(w) && !slices.Contains(taken, w) {
						left[w] = line
					}
				}
			}
		}
	}
	if len(left) > 0 || shims < 20 {
		t.Errorf("%d callers: macros may take %v: %v", shims, slices.Sorted(maps.Keys(left)), left)
	}
	if text := shim.Undefined("a b"); text != "#undef a\n#undef b\n" {
		t.Errorf("undefined: %q", text)
	}
}

// A file that may read several elements at once is called only with tensors that begin at multiples of 16
// bytes; a plain one wherever they begin.
func TestPlainFilesTakeAnyPlace(t *testing.T) {
	tensors := func(o *catalog.Operator) int { return len(o.Spec.InputSpecs) + len(o.Spec.OutputSpecs) }
	at := slices.IndexFunc(catalog.All(), func(o *catalog.Operator) bool {
		return tensors(o) == 2 && len(o.Spec.Dims) == 1 && len(o.Spec.Attributes) == 0 &&
			o.Spec.Backward != nil
	})
	s := catalog.All()[at].Spec
	in, out, n := s.InputSpecs[0].Name, s.OutputSpecs[0].Name, s.Dims[0].Name
	for line, want := range map[string]bool{
		"": false, "// blocks of 128 threads, the first 2 are full": false,
		"float4 v;": true, "__nv_bfloat162 v;": true, "auto p = (const Pack *)0;": true,
		"auto p = reinterpret_cast<const long *>(0);": true, "asm volatile(\"ld.v2\");": true,
	} {
		text := "__global__ void k(const float *" + in + ", float *" + out + ", int " + n + ") {\n" +
			line + "\n}\n" +
			"int main() { float *p = (float *)malloc(128); cudaMalloc((void **)&p, 8); }\n"
		all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, s, []op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(shim.CUDAShim("mine.cu", "mine", all), ".aligned("); got != want {
			t.Errorf("%q: asks for aligned tensors: %v, want %v", line, got, want)
		}
	}
}
