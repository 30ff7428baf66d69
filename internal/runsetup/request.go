package runsetup

import (
	"crypto/rand"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/rownames"
	"triad/internal/run"
	"triad/internal/truth"
)

// DefaultSeed is the seed of a run without --seed.
const DefaultSeed = op.DefaultSeed

// CaseFlags holds the flags of every verb that runs something that choose what is run.
type CaseFlags struct {
	machine.DeviceFlags
	Pass, Seed, Shard                     string
	DTypes, Dims, Attrs, Impls, Limits    []string
	Quick, Full                           bool
	Layout, Distribution, Upstream, Saved []string
}

// Request converts flags to a request. sources hold the files of the operators.
func (f *CaseFlags) Request(sources fs.FS, names []string) (run.Request, error) {
	r := run.Request{Impls: f.Impls}
	var err error
	if r.Operators, err = Operators(names); err != nil {
		return r, err
	}
	if err := namedRows(sources, r.Operators, f.Impls); err != nil {
		return r, err
	}
	if r.Options, err = f.Options(); err != nil {
		return r, err
	}
	if r.Shard, err = parseShard(f.Shard); err != nil {
		return r, err
	}
	r.Seed, err = parseSeed(f.Seed)
	r.Options.Seed = r.Seed
	return r, err
}

// namedRows returns the usage error of a prefix that matches no implementation of any operator, or of an
// operator of which none matches, as far as the sources tell: run.PlanCompare asks the same of what is
// loaded.
func namedRows(sources fs.FS, operators []*truth.Operator, impls []string) error {
	_, shipped := sources.(embed.FS) // names in other files may be made by macros: only building tells them
	ofUser := func(o *truth.Operator) bool { return o.Reference != nil }
	if !shipped || slices.ContainsFunc(operators, ofUser) {
		return nil
	}
	prefixes := slices.Compact(slices.Sorted(slices.Values(impls)))
	lacking := map[string]int{}
	for _, o := range operators {
		missing := rownames.Missing(sources, o.Spec.Name, prefixes)
		for _, m := range missing {
			if lacking[m.Prefix]++; len(missing) == len(prefixes) || lacking[m.Prefix] == len(operators) {
				return console.Usage("%s has no implementation %q: it has %s", o.Spec.Name, m.Prefix,
					strings.Join(m.Have, ", "))
			}
		}
	}
	return nil
}

// Operators returns the operators of these names: of the catalog, all of it for "all", or one folder's. An
// error is one of usage, with the nearest name.
func Operators(names []string) ([]*truth.Operator, error) {
	if len(names) == 0 {
		return nil, console.Usage("no operator named: want one or more of %s, or all",
			strings.Join(catalog.Names(), ", "))
	}
	if slices.Contains(names, "all") {
		if len(names) > 1 {
			return nil, console.Usage("all stands alone: it means every operator")
		}
		names = catalog.Names()
	}
	var list []*truth.Operator
	for _, name := range names {
		if opfolder.IsFile(name) {
			return nil, opfolder.FileForOperator(name, slices.DeleteFunc(slices.Clone(names),
				func(n string) bool { return !slices.Contains(catalog.Names(), n) })...)
		}
		if opfolder.IsFolder(name) && len(names) > 1 {
			return nil, console.Usage("%s is an operator of your own: name it alone", name)
		}
		o, err := opfolder.Named(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, o) {
			return nil, console.Usage("%s is named twice", name)
		}
		list = append(list, o)
	}
	return list, nil
}

// Options converts the flags that choose cases: level, passes, dtypes, dims in elements, and attributes. An
// error is one of usage. It replaces f.DTypes by their full names.
func (f *CaseFlags) Options() (op.Options, error) {
	for i, typed := range f.DTypes {
		f.DTypes[i] = op.DTypeNamed(typed)
	}
	o := op.Options{
		DTypes: f.DTypes, Distributions: f.Distribution, Layouts: f.Layout, Upstreams: f.Upstream,
		Saved: f.Saved,
	}
	switch {
	case f.Quick && f.Full:
		return o, console.Usage("--quick and --full exclude each other")
	case f.Quick:
		o.Level = op.LevelQuick
	case f.Full:
		o.Level = op.LevelFull
	}
	switch f.Pass {
	case "both":
	case "forward":
		o.Passes = []op.Pass{op.Forward}
	case "backward":
		o.Passes = []op.Pass{op.Backward}
	default:
		return o, console.Usage("--pass %q: want forward, backward or both", f.Pass)
	}
	if f.Pass == "forward" && len(f.Upstream)+len(f.Saved) > 0 {
		return o, console.Usage("--upstream and --saved speak of backwards: --pass forward has none")
	}
	switch {
	case !slices.Contains([]string{"auto", "cpu", "gpu"}, f.Device):
		return o, console.Usage("--device %q: want auto, cpu or gpu", f.Device)
	case f.GPU < -1:
		return o, console.Usage("--gpu %d: want a number from 0", f.GPU)
	case f.GPU >= 0 && f.Device == "cpu":
		return o, console.Usage("--gpu %d and --device cpu exclude each other", f.GPU)
	}
	o.Device = "cpu"
	var err error
	if o.Dims, err = parseDims(f.Dims); err != nil {
		return o, err
	}
	o.Attributes, err = parseAttrs(f.Attrs)
	return o, err
}

func parseDims(words []string) (map[string]int64, error) {
	dims := map[string]int64{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if ok && errors.Is(err, strconv.ErrRange) {
			return nil, console.Usage("--dims %q: %s is too large: want at most 2^40", word, value)
		}
		if !ok || err != nil {
			return nil, console.Usage("--dims %q: want NAME=SIZE with an integer, e.g. rows=8", word)
		}
		if _, twice := dims[name]; twice {
			return nil, console.Usage("--dims names %s twice", name)
		}
		dims[name] = n
	}
	return dims, nil
}

func parseAttrs(words []string) (map[string]string, error) {
	attrs := map[string]string{}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, console.Usage("--attr %q: want NAME=VALUE, e.g. causal=true", word)
		}
		if _, twice := attrs[name]; twice {
			return nil, console.Usage("--attr names %s twice", name)
		}
		attrs[name] = value
	}
	return attrs, nil
}

func parseSeed(text string) (uint64, error) {
	if text == "random" {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return 0, fmt.Errorf("draw a seed: %w", err)
		}
		return binary.LittleEndian.Uint64(b[:]) >> 1, nil // positive in every SQL client
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, console.Usage("--seed %q: want an integer below 2^63, or random", text)
	}
	return n, nil
}

// Canonical returns the text by which an interrupted session is found: exactly what decides what is run.
func Canonical(verb string, r run.Request, f *CaseFlags) string {
	names := make([]string, len(r.Operators))
	for i, o := range r.Operators {
		names[i] = o.Spec.Name
	}
	seed := strconv.FormatUint(r.Seed, 10)
	if f.Seed == "random" {
		seed = "random"
	}
	text, _ := json.Marshal(map[string]any{
		"verb": verb, "ops": names, "options": r.Options, "impls": r.Impls,
		"seed": seed,
	})
	return string(text)
}
