package ownfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
)

// publishedSignatures holds the signatures of testdata/published.toml.
type publishedSignatures struct {
	Published []struct {
		Name, Operator, File, Pass, Text string
		Want                             string // what is matched; "" where it is refused
		Says                             string // the words of the refusal
	}
}

// readTable reads a file of testdata.
func readTable[T any](t *testing.T, file string) (table T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&table); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return table
}

func TestPublishedSignatures(t *testing.T) {
	for _, c := range readTable[publishedSignatures](t, "published.toml").Published {
		var pass op.Pass
		if err := pass.UnmarshalText([]byte(c.Pass)); err != nil {
			t.Fatal(err)
		}
		r := binding.Request{Path: c.File, Parse: parsed}
		all, err := Bind(Read(r, c.Text, nil), r, spec(t, c.Operator), []op.Pass{pass}, binding.Options{})
		switch {
		case c.Want == "" && err == nil:
			t.Errorf("%s: %s, want it refused", c.Name, all[0].Matched())
		case c.Want == "" && !strings.Contains(err.Error(), c.Says):
			t.Errorf("%s: %v, want %q", c.Name, err, c.Says)
		case c.Want != "" && err != nil:
			t.Errorf("%s: %v", c.Name, err)
		case c.Want != "" && all[len(all)-1].Matched() != c.Want:
			t.Errorf("%s:\n got %s\nwant %s", c.Name, all[len(all)-1].Matched(), c.Want)
		}
	}
}

// A branch is read if a flag defines its name.
func TestFlagsDecideBranches(t *testing.T) {
	const text = "#ifdef FAST\nextern \"C\" void fast() {}\n#else\nextern \"C\" void slow() {}\n#endif\n" +
		"#ifndef FAST\nextern \"C\" void also() {}\n#endif\n"
	for flags, want := range map[string]string{
		"": "slow also", "-DFAST": "fast", "-DFAST=1": "fast", "-DSLOW": "slow also",
	} {
		var names []string
		for _, fn := range Read((binding.Request{Path: "x.cu"}), text, strings.Fields(flags)).Functions {
			names = append(names, fn.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%q: read %v, want %s", flags, names, want)
		}
	}
}

// A Python function that takes sizes gets tensors without those that it has no parameter for.
func TestPythonGetsWhatItsSizesSay(t *testing.T) {
	r := binding.Request{Path: "mine.py", Parse: parsed}
	text := "def solve(input: torch.Tensor, output: torch.Tensor, N: int):\n    pass\n"
	all, err := Bind(Read(r, text, nil), r, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	shim := shim.PythonShim("mine.py", "mine/mine", all)
	for _, want := range []string{
		"in_x = in_x.reshape((dim_cols,))", "out_y = torch.empty((dim_cols,)",
		"return given((out_y.reshape((dim_rows, dim_cols,)))", "if not (dim_rows == 1):",
	} {
		if !strings.Contains(shim, want) {
			t.Errorf("no %q in\n%s", want, shim[strings.Index(shim, "def _forward(in_x"):])
		}
	}
}

// apply reads words of the command line as cmd/triad does.
func apply(t *testing.T, o binding.Options, flags string) binding.Options {
	t.Helper()
	for _, part := range strings.Split(" "+flags, " --")[1:] {
		name, words, _ := strings.Cut(part, " ")
		words = strings.Trim(words, `"`)
		pairs := map[string]string{}
		if name == "map" || name == "attr" || name == "dims" {
			for _, pair := range strings.Split(words, ",") {
				key, value, ok := strings.Cut(pair, "=")
				if !ok {
					t.Fatalf("--%s %s is no NAME=VALUE", name, words)
				}
				pairs[key] = value
			}
		}
		switch name {
		case "map":
			o = o.With(binding.Alternative{Options: binding.Options{Map: pairs}})
		case "attr":
			o = o.With(binding.Alternative{Options: binding.Options{Attrs: pairs}})
		case "dims":
			dims := map[string]int64{}
			for key := range pairs {
				dims[key] = 1
			}
			o = o.With(binding.Alternative{Options: binding.Options{Dims: dims}})
		case "grid":
			o.Grid = words
		case "block":
			o.Block = words
		case "shared":
			o.Shared = words
		default:
			t.Fatalf("--%s is no flag that settles an interpretation", name)
		}
	}
	return o
}

// Every alternative interpretation of a function that is tried can be given by flags.
func TestAlternativesAreFlags(t *testing.T) {
	var texts [][2]string
	for _, c := range readTable[publishedSignatures](t, "published.toml").Published {
		texts = append(texts, [2]string{c.File, c.Text})
	}
	for _, c := range readTable[settleCases](t, "settle.toml").Cases {
		texts = append(texts, [2]string{"x.cu", c.Text})
	}
	tried := 0
	for _, text := range texts {
		r := binding.Request{Path: text[0], Parse: parsed}
		for _, name := range catalog.Names() {
			s := spec(t, name)
			bound, err := Bind(Read(r, text[1], nil), r, s, s.Passes(), binding.Options{})
			if err != nil {
				continue
			}
			for _, b := range bound {
				for _, other := range Alternatives(b) {
					tried++
					if len(other.Options.Without) == 0 { // that is found by a trial each time
						apply(t, binding.Options{}, other.Flags) // one that does not fit the types is dropped
					}
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("%d interpretations were tried, want at least 50", tried)
	}
}
