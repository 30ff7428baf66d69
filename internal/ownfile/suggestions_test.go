package ownfile

import (
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/params"
)

// Every line of a refusal gets a function further once its open words are filled in: it is not refused with
// the same sentence again.
func TestLinesOfRefusals(t *testing.T) {
	texts := [][2]string{}
	for _, c := range readTable[publishedSignatures](t, "published.toml").Published {
		texts = append(texts, [2]string{c.File, c.Text})
	}
	for _, c := range readTable[settleCases](t, "settle.toml").Cases {
		texts = append(texts, [2]string{"x.cu", c.Text})
	}
	applied := 0
	for _, text := range texts {
		r := binding.Request{Path: text[0], Parse: parsed}
		file := Read(r, text[1], nil)
		for _, name := range catalog.Names() {
			s := spec(t, name)
			for _, fn := range file.Functions {
				_, err := params.Match(file, fn, s, op.Forward, binding.Options{})
				if err == nil {
					continue
				}
				before, rest, there := strings.Cut(err.Error(), "\n  Write this line above line ")
				_, said, _ := strings.Cut(rest, binding.WithMeant+": ")
				if !there {
					continue
				}
				lines, malformed := declaration.Find(said, signOf(fn))
				if malformed != nil {
					t.Fatalf("%s %s: %v in %s", name, fn.Text, malformed, said)
				}
				applied++
				if !getsFurther(file, fn, s, lines[0], before) {
					t.Errorf("%s %s: %s gets no further than\n%s", name, fn.Text, said, before)
				}
			}
		}
	}
	if applied < 100 {
		t.Errorf("%d lines were applied, want at least 100", applied)
	}
}

func signOf(fn cfacts.Function) string { return (&binding.Binding{Function: fn}).Sign() }

// getsFurther reports whether filling in an open word of the line changes how reading it ends.
func getsFurther(file *cfacts.File, fn cfacts.Function, s *op.Spec, line declaration.Line,
	before string,
) bool {
	inputs, outputs := s.Tensors(op.Forward)
	b := &binding.Binding{Spec: s, Pass: op.Forward, Function: fn, InputSpecs: inputs, OutputSpecs: outputs}
	values := append(binding.ParameterNames(&fn), "1")
	var keys []string
	for _, target := range append(append(b.Targets(), params.AdapterWords(b)...), "1") {
		keys = append(keys, strings.ReplaceAll(target, " ", ""))
	}
	for at, w := range line.Words {
		for _, key := range keys {
			for _, value := range values {
				if w.Key != declaration.Open && w.Key != key ||
					w.Value != declaration.Open && w.Value != value {
					continue
				}
				if w.Key != declaration.Open && w.Value != declaration.Open {
					continue // it is known
				}
				one := declaration.Line{Operator: line.Operator}
				for i, other := range line.Words {
					switch {
					case i == at:
						one.Words = append(one.Words, declaration.Word{Key: key, Value: value})
					case other.Key != declaration.Open && other.Value != declaration.Open:
						one.Words = append(one.Words, other)
					}
				}
				fn.Declared = []declaration.Line{one}
				options, err := declared.StatedBy(binding.Options{}, fn, s, op.Forward)
				if err == nil {
					_, err = params.Match(file, fn, s, op.Forward, options)
				}
				if err == nil || err.Error() != before && !strings.Contains(err.Error(), "does not fit") {
					return true
				}
			}
		}
	}
	return false
}
