package op

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// autocastDevices and autocastRules are the words of [torch] autocast.
var (
	autocastDevices = []string{"cpu", "cuda"}
	autocastRules   = []string{"fp32", "lower"}
)

// compileUsage checks the spec's entries for callers of the operator: [synonyms], [torch], [[compile]].
func (s *Spec) compileUsage() error {
	if err := s.checkOwn(); err != nil {
		return err
	}
	if err := s.checkSynonyms(); err != nil {
		return err
	}
	for _, device := range slices.Sorted(maps.Keys(s.Torch.Autocast)) {
		rule := s.Torch.Autocast[device]
		if !slices.Contains(autocastDevices, device) || !slices.Contains(autocastRules, rule) {
			return fmt.Errorf("torch.autocast: %s = %q: want devices of %s and rules of %s", device, rule,
				strings.Join(autocastDevices, ", "), strings.Join(autocastRules, ", "))
		}
	}
	for i, c := range s.Compile {
		if err := s.checkCompile(c); err != nil {
			return fmt.Errorf("compile, entry %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Spec) checkCompile(c CompileSpec) error {
	for _, layout := range c.Layouts {
		if layout != "contiguous" && layout != "transposed" {
			return fmt.Errorf("layouts: %q: want contiguous or transposed", layout)
		}
	}
	if err := each("dtypes", c.DTypes, s.DTypes); err != nil {
		return err
	}
	pins, err := s.pinned(c.Attributes)
	if err != nil {
		return err
	}
	return s.prove(c.Dims, pins, c.DTypes)
}

// checkOwn checks that the forms of the user's own files refer to dims.
func (s *Spec) checkOwn() error {
	for _, name := range s.Own.Flat {
		if !s.isDim(name) {
			return fmt.Errorf("own.flat: there is no dim %q", name)
		}
	}
	for _, name := range slices.Concat(s.Own.Packed, s.Own.Wide, s.Own.Tokens,
		[]string{s.Own.Factor, s.Own.Addend, s.Own.Total},
		slices.Sorted(maps.Keys(s.Own.Each)), slices.Sorted(maps.Values(s.Own.Each))) {
		if name != "" && !s.isNamed(name) && !s.isDim(name) {
			return fmt.Errorf("own: there is no tensor and no dim %q", name)
		}
	}
	if err := each("own.no_target", s.Own.NoTarget, s.Check.Distributions); err != nil {
		return err
	}
	if err := each("own.whole", s.Own.Whole, s.Check.Distributions); err != nil {
		return err
	}
	if _, is := s.attribute(s.Own.Pairs); s.Own.Pairs != "" && !is {
		return fmt.Errorf("own.pairs: there is no attribute %q", s.Own.Pairs)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Own.Triangle)) {
		_, isAttribute := s.attribute(name)
		if _, isSizes := s.Synonyms[s.Own.Triangle[name]]; !isAttribute || !isSizes {
			return fmt.Errorf("own.triangle: %s = %q: want an attribute and equal sizes that have synonyms",
				name, s.Own.Triangle[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Own.InPlace)) {
		_, isOutput := s.Output(name)
		if _, isInput := s.Input(s.Own.InPlace[name]); !isOutput || !isInput {
			return fmt.Errorf("own.in_place: %s = %q: want an output and an input", name, s.Own.InPlace[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Own.Unread)) {
		_, isInput := s.Input(name)
		if _, isAttribute := s.attribute(s.Own.Unread[name]); !isInput || !isAttribute {
			return fmt.Errorf("own.unread: %s = %q: want an input and an attribute", name, s.Own.Unread[name])
		}
	}
	return nil
}

// checkSynonyms checks that the keys are names of the spec, products or equal sizes, and that the values are
// words.
func (s *Spec) checkSynonyms() error {
	for _, key := range slices.Sorted(maps.Keys(s.Synonyms)) {
		isSizes := strings.ContainsAny(key, "*=")
		for _, name := range strings.FieldsFunc(key,
			func(r rune) bool { return strings.ContainsRune("*= ", r) }) {
			if !s.isDim(name) && (isSizes || !s.isNamed(name)) {
				return fmt.Errorf("synonyms: %q: %s is no dim, attribute or tensor of the forward; "+
					"\"a * b\" and \"a = b\" are of dims", key, name)
			}
		}
		strong, weak, _ := strings.Cut(s.Synonyms[key], "|")
		words := append(strings.Fields(strong), strings.Fields(weak)...)
		taken := map[string]bool{}
		for _, word := range words {
			if !identifier.MatchString(word) || taken[word] {
				return fmt.Errorf("synonyms: %s: %q: want names of lower-case letters, digits and _, each "+
					"once",
					key, word)
			}
			taken[word] = true
		}
		if len(words) == 0 {
			return fmt.Errorf("synonyms: %s: want at least one word", key)
		}
	}
	return nil
}

// isNamed reports whether name is an attribute or a tensor of the forward.
func (s *Spec) isNamed(name string) bool {
	_, isInput := s.Input(name)
	_, isOutput := s.Output(name)
	_, isAttribute := s.attribute(name)
	return isInput || isOutput || isAttribute
}

// SizesBeside lists what one parameter may stand for in addition to a dim: "a * b" is a product of sizes, "a
// = b" are several sizes that must be equal.
func (s *Spec) SizesBeside() []string {
	var all []string
	for name := range s.Synonyms {
		if strings.ContainsAny(name, "*=") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
