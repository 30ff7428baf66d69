package sass

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/backend"
)

// HopperCode is the architecture whose code sass reads: the model of the pipes is Hopper's.
const HopperCode = "sm_90a"

// Idea returns the words of a variant's name that the names of its kernels contain: all but the architecture.
func Idea(variant string) []string {
	return slices.DeleteFunc(
		strings.Split(variant, "_"),
		func(word string) bool { return strings.HasPrefix(word, "sm") },
	)
}

var identifier = regexp.MustCompile(`\d+([A-Za-z_]\w*)`)

// FunctionOf returns the name of a kernel in its file from the mangled one: the last name before the
// template's arguments.
func FunctionOf(mangled string) string {
	rest, name := strings.TrimPrefix(strings.TrimPrefix(mangled, "_Z"), "N"), mangled
	for {
		m := identifier.FindStringIndex(rest)
		if m == nil || m[0] != 0 {
			return name
		}
		var length int
		if _, err := fmt.Sscanf(rest, "%d", &length); err != nil {
			return name
		}
		rest = strings.TrimLeft(rest, "0123456789")
		if length > len(rest) {
			return name
		}
		name, rest = rest[:length], rest[length:]
	}
}

// KernelsOf returns the kernels whose function has all words of the variant's idea in its name.
func KernelsOf(all []backend.KernelFact, variant string) []backend.KernelFact {
	var mine []backend.KernelFact
	for _, k := range all {
		words := strings.Split(FunctionOf(k.Kernel), "_")
		if k.Arch == HopperCode && !slices.ContainsFunc(Idea(variant),
			func(word string) bool { return !slices.Contains(words, word) }) {
			mine = append(mine, k)
		}
	}
	return mine
}

// Wanted selects kernels.
type Wanted struct {
	Variant string
	DTypes  []string // none: every one
	Pass    string   // forward, backward or both
}

// Choose returns the kernels of the variant that are wanted: those that name another dtype or pass are not.
func (w Wanted) Choose(all []backend.KernelFact) ([]backend.KernelFact, error) {
	ofVariant := KernelsOf(all, w.Variant)
	if len(ofVariant) == 0 {
		return nil, fmt.Errorf("no kernel has %s in its name: there are %s",
			strings.Join(Idea(w.Variant), " and "), strings.Join(Functions(all), ", "))
	}
	var chosen []backend.KernelFact
	var there []string
	for _, k := range ofVariant {
		n := NameOf(k.Kernel)
		there = append(there, strings.TrimSpace(n.DType+" "+n.Pass))
		if (len(w.DTypes) == 0 || n.DType == "" || slices.Contains(w.DTypes, n.DType)) &&
			(w.Pass == "both" || n.Pass == "" || n.Pass == w.Pass) {
			chosen = append(chosen, k)
		}
	}
	if len(chosen) == 0 {
		slices.Sort(there)
		return nil, fmt.Errorf("no kernel of %s is for this dtype and pass: there are %s", w.Variant,
			strings.Join(slices.Compact(there), ", "))
	}
	return chosen, nil
}

// Functions returns the names of the kernels, each once, sorted.
func Functions(all []backend.KernelFact) []string {
	var names []string
	for _, k := range all {
		if k.Arch == HopperCode {
			names = append(names, FunctionOf(k.Kernel))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
