package sass

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Name holds what the mangled name of a kernel says.
type Name struct {
	Text  string // as it is written in C++, without its parameters and the namespaces of triad
	DType string // the first one that it names; "" if it names none
	Pass  string // forward or backward; "" if it names neither
}

var (
	ownNamespaces = regexp.MustCompile(`\(anonymous namespace\)::|\btriad::`)
	typeOfName    = regexp.MustCompile(`\b(?:float|double|__half|__nv_bfloat16|__nv_fp8_e4m3|__nv_fp8_e5m2|` +
		`signed char)\b`)
	dtypesOfTypes = map[string]string{
		"float": "fp32", "double": "fp64", "__half": "fp16", "__nv_bfloat16": "bf16",
		"__nv_fp8_e4m3": "e4m3", "__nv_fp8_e5m2": "e5m2", "signed char": "int8",
	}
	passesOfWords = map[string]string{
		"fwd": "forward", "forward": "forward", "bwd": "backward", "backward": "backward", "grad": "backward",
		"gradient": "backward",
	}
)

// NameOf reads the mangled name of a kernel.
func NameOf(mangled string) Name {
	whole, err := demangle.ToString(mangled)
	if err != nil {
		return Name{Text: mangled}
	}
	short, err := demangle.ToString(mangled, demangle.NoParams)
	if err != nil {
		short = whole
	}
	n := Name{Text: ownNamespaces.ReplaceAllString(short, "")}
	_, arguments, _ := strings.Cut(n.Text, "<")
	n.DType = dtypesOfTypes[cmp.Or(typeOfName.FindString(arguments), typeOfName.FindString(whole))]
	for word := range strings.SplitSeq(FunctionOf(mangled), "_") {
		n.Pass = cmp.Or(n.Pass, passesOfWords[word])
	}
	return n
}
