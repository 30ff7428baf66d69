package kernelfile

import (
	"regexp"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// What a refusal tells a user to write.
var (
	mapSuggested  = regexp.MustCompile(`--map (\w+)=([\w.:+]+)`)
	dimsSuggested = regexp.MustCompile(`--dims (\w+=\d+)`)
)

// Every suggestion of a refusal is accepted by the parser, and gets a function further: it is not refused
// with the same sentence again.
func TestSuggestionsOfRefusals(t *testing.T) {
	texts := [][2]string{}
	for _, c := range readTable[publishedSignatures](t, "published.toml").Published {
		texts = append(texts, [2]string{c.File, c.Text})
	}
	for _, c := range readTable[settleCases](t, "settle.toml").Cases {
		texts = append(texts, [2]string{"x.cu", c.Text})
	}
	applied := 0
	for _, text := range texts {
		r := Request{Path: text[0]}
		file := r.Read(text[1], nil)
		for _, name := range catalog.Names() {
			s := spec(t, name)
			for _, fn := range file.Functions {
				_, err := Match(file, fn, s, op.Forward, Options{})
				if err == nil {
					continue
				}
				for _, words := range suggestionsOf(err.Error(), s) {
					applied++
					if !getsFurther(t, file, fn, s, words, err.Error()) {
						t.Errorf("%s %s: none of %q gets further than\n%v", name, fn.Text, words, err)
					}
				}
			}
		}
	}
	if applied < 100 {
		t.Errorf("%d suggestions were applied, want at least 100", applied)
	}
}

// suggestionsOf are the suggestions of a message: of each the flags that it may stand for, of which one must
// do.
func suggestionsOf(message string, s *op.Spec) (all [][]string) {
	inputs, outputs := s.Tensors(op.Forward)
	for _, m := range mapSuggested.FindAllStringSubmatch(message, -1) {
		switch {
		case m[1] == "PARAMETER":
		case m[2] == "NAME":
			b := &Binding{Spec: s, Pass: op.Forward, inputs: inputs, outputs: outputs}
			var flags []string
			for _, target := range append(append(b.targets(), b.formWords()...), "1") {
				flags = append(flags, "--map "+m[1]+"="+strings.ReplaceAll(target, " ", ""))
			}
			all = append(all, flags)
		default:
			all = append(all, []string{m[0]})
		}
	}
	for _, m := range dimsSuggested.FindAllStringSubmatch(message, -1) {
		all = append(all, []string{m[0]})
	}
	return all
}

// getsFurther says whether one of several flags is understood and ends otherwise than before.
func getsFurther(t *testing.T, file *File, fn Function, s *op.Spec, flags []string, before string) bool {
	t.Helper()
	for _, flag := range flags {
		_, err := Match(file, fn, s, op.Forward, apply(t, Options{}, flag))
		if err == nil || err.Error() != before && !strings.Contains(err.Error(), "does not fit") {
			return true
		}
	}
	return false
}
