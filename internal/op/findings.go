package op

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Finding is a fault of a library's kernel that has been investigated: internal/catalog/<op>/findings.toml. A
// FAIL of a case that it covers, in an output that it names and of the kind that it describes, is KNOWN. An
// empty list of dtypes, distributions, upstreams, layouts or devices means all.
type Finding struct {
	ID string `toml:"id"`
	// of libraries: never our own kernels or a user's
	Implementations []string `toml:"implementations"`
	Device          string   `toml:"device"` // "cpu" or "gpu"
	// the vector instructions that torch's own CPU kernels must use, "AVX512"; "": any
	CPU string `toml:"cpu"`
	// by package, comparisons that must all hold: ">= 2.11, < 2.12"
	Versions      map[string]string `toml:"versions"`
	Pass          string            `toml:"pass"` // "forward" or "backward"
	DTypes        []string          `toml:"dtypes"`
	Distributions []string          `toml:"distributions"`
	Upstreams     []string          `toml:"upstreams"`
	Layouts       []string          `toml:"layouts"`
	Attributes    map[string]any    `toml:"attributes"`
	Require       []string          `toml:"require"` // conditions over dims and attributes, as in the spec

	Outputs []string `toml:"outputs"` // that may be wrong
	Gates   []string `toml:"gates"`   // that may reject them
	Wrong   []Wrong  `toml:"wrong"`   // each wrong element must be one of these
	// the operations of torch that have the fault, "aten.gelu": it excuses a user's file whose wrong call
	// called one of them; none: no user's file
	Calls []string `toml:"calls"`
	// instead of outputs, gates and wrong: words of the exception that ends the call (CRASH)
	Raises string `toml:"raises"`

	Happens string `toml:"happens"` // the fault, in a sentence without a full stop
	Why     string `toml:"why"`
	Link    string `toml:"link"`
	Seen    string `toml:"seen"`    // the versions and the device
	Command string `toml:"command"` // that shows it
	// a further condition for the command to show it, which cannot be requested: "the memory that it gets was
	// used"
	Sometimes string `toml:"sometimes"`
	Enough    int    `toml:"enough"` // if so many covered cases all pass, it no longer happens

	attributes map[string]string
	require    []Expression
	versions   map[string][]bound
}

// WrongKinds names the kinds of wrong elements: a NaN that the answer lacks, a NaN in the answer alone, an
// infinity in one of the two, two finite numbers.
var WrongKinds = []string{"nan lost", "nan gained", "infinite", "finite"}

// LibraryFamilies are the first words of implementations that findings may cover: libraries that we do not
// ship.
var LibraryFamilies = slices.Concat([]string{"torch"}, PeerFamilies)

// PeerFamilies are the first words of the rows of other projects' kernels, in the order of a table;
// pybridge/peers/peers.py names the package of each.
var PeerFamilies = []string{"liger", "quack", "fa4", "torchao", "flashmla", "cce", "deepgemm", "fla"}

// libraryVariants are rows of our own families that call a library.
var libraryVariants = []string{"cuda/cublas", "cuda/cublaslt", "cuda/cub"}

// Gates names the judge's gates.
var Gates = []string{"G0", "G1", "G2", "G3", "G4", "G6", "G7"}

// CPUVersion is the name, among the versions of a worker, of the vector instructions that torch's own CPU
// kernels use there: "AVX2", "AVX512".
const CPUVersion = "torch_cpu"

// LoadFindings reads the findings of an operator and checks them as Load does a spec. file is used in the
// messages.
func LoadFindings(file string, text []byte, spec *Spec) ([]Finding, error) {
	if len(text) > maxSpecSize {
		return nil, fmt.Errorf("read findings %s: %d bytes: want at most %d", file, len(text), maxSpecSize)
	}
	var all struct {
		Findings []Finding `toml:"findings"`
	}
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&all); err != nil {
		return nil, fmt.Errorf("read findings %s%w", file, located(err, reflect.TypeOf(all)))
	}
	seen := map[string]bool{}
	for i := range all.Findings {
		f := &all.Findings[i]
		err := f.compile(spec)
		if err == nil && seen[f.ID] {
			err = errors.New("the id occurs twice")
		}
		if err != nil {
			return nil, fmt.Errorf("read findings %s:%d: finding %q: %w", file, lineOfEntry(text, i), f.ID,
				err)
		}
		seen[f.ID] = true
	}
	return all.Findings, nil
}

// lineOfEntry returns the line on which the i-th finding begins.
func lineOfEntry(text []byte, i int) int {
	for n, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "[[findings]]") {
			if i--; i < 0 {
				return n + 1
			}
		}
	}
	return 1
}

var (
	findingID      = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	operationName  = regexp.MustCompile(`^[a-z_]+\.\w+$`)
	findingCommand = regexp.MustCompile(`^([A-Z_]+=\w+ )*triad `)
)

// Shown returns the command that shows the fault: settings of the environment, and the arguments of triad.
func (f *Finding) Shown() (environment, args []string) {
	words := strings.Fields(f.Command)
	at := slices.Index(words, "triad")
	return words[:at], words[at+1:]
}

func (f *Finding) compile(spec *Spec) error {
	switch {
	case !findingID.MatchString(f.ID):
		return errors.New("id: want words of lower-case letters and digits, joined by -")
	case f.Happens == "" || f.Why == "" || f.Seen == "":
		return errors.New("happens, why and seen: want a text for each")
	case !findingCommand.MatchString(f.Command):
		return errors.New("command: want the command that shows it, triad ..., behind settings such as " +
			"OMP_NUM_THREADS=2 if it needs them")
	case f.Enough < 1:
		return errors.New("enough: want the number of covered cases, at least 1, that say it is gone when " +
			"all pass")
	case !slices.Contains([]string{"", "cpu", "gpu"}, f.Device):
		return fmt.Errorf("device %q: want cpu or gpu", f.Device)
	case f.CPU != "" && f.Device != "cpu":
		return fmt.Errorf("cpu %q: want device = \"cpu\" with it, where the CPU computes", f.CPU)
	}
	for _, name := range f.Calls {
		if !operationName.MatchString(name) {
			return fmt.Errorf("calls %q: want an operation of torch's dispatcher, such as aten.gelu", name)
		}
	}
	for _, step := range []func(*Spec) error{f.compileImplementations, f.compileCases, f.compileLooks} {
		if err := step(spec); err != nil {
			return err
		}
	}
	return nil
}

func (f *Finding) compileImplementations(*Spec) error {
	if len(f.Implementations) == 0 {
		return errors.New("implementations: want at least one")
	}
	for _, name := range f.Implementations {
		family, variant, _ := strings.Cut(name, "/")
		library := slices.Contains(LibraryFamilies, family) && variant != ""
		if !library && !slices.Contains(libraryVariants, name) {
			return fmt.Errorf("implementations: %q: only what a library brings has findings: %s/...", name,
				strings.Join(LibraryFamilies, "/..., "))
		}
	}
	if len(f.Versions) == 0 {
		return errors.New("versions: want a range for at least one package")
	}
	f.versions = map[string][]bound{}
	for name, text := range f.Versions {
		var err error
		if f.versions[name], err = parseBounds(text); err != nil {
			return fmt.Errorf("versions of %s: %w", name, err)
		}
	}
	return nil
}

// compileCases checks the selection of cases.
func (f *Finding) compileCases(spec *Spec) error {
	var pass Pass
	if err := pass.UnmarshalText([]byte(f.Pass)); err != nil || !slices.Contains(spec.Passes(), pass) {
		return fmt.Errorf("pass %q: want one of %v", f.Pass, spec.Passes())
	}
	for _, list := range []struct {
		what          string
		have, allowed []string
	}{
		{"dtypes", f.DTypes, spec.PassDTypes(pass)},
		{"distributions", f.Distributions, Distributions},
		{"upstreams", f.Upstreams, Upstreams},
		{"layouts", f.Layouts, Layouts},
	} {
		if err := each(list.what, list.have, list.allowed); err != nil {
			return err
		}
	}
	var err error
	if f.attributes, err = spec.pinned(f.Attributes); err != nil {
		return fmt.Errorf("attributes: %w", err)
	}
	for _, text := range f.Require {
		e, err := ParseExpression(text, spec.isNumber, false)
		if err != nil {
			return fmt.Errorf("require: %w", err)
		}
		f.require = append(f.require, e)
	}
	return nil
}

// compileLooks checks the description of the fault.
func (f *Finding) compileLooks(spec *Spec) error {
	if f.Raises != "" {
		if len(f.Outputs)+len(f.Gates)+len(f.Wrong) > 0 {
			return errors.New("raises: a call that raises gives no outputs: outputs, gates and wrong stand " +
				"for one that returns")
		}
		return nil
	}
	var names []string
	if f.Pass == Backward.String() {
		names = spec.Backward.Outputs
	} else {
		for _, t := range spec.OutputSpecs {
			names = append(names, t.Name)
		}
	}
	if len(f.Outputs) == 0 || len(f.Gates) == 0 || len(f.Wrong) == 0 {
		return errors.New("outputs, gates and wrong: want at least one of each, or raises")
	}
	wrong := errors.Join(each("outputs", f.Outputs, names), each("gates", f.Gates, Gates))
	for i := range f.Wrong {
		if err := f.Wrong[i].compile(spec); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("wrong: %w", err))
		}
	}
	return wrong
}

// Covers reports whether the finding applies to an implementation on a case; versions are those of the worker
// that ran it.
func (f *Finding) Covers(c Case, implementation, device string, versions map[string]string) bool {
	if !slices.Contains(f.Implementations, implementation) || f.Pass != c.Pass.String() || f.Device != "" &&
		f.Device != device || f.CPU != "" && f.CPU != versions[CPUVersion] {
		return false
	}
	for _, list := range []struct {
		have []string
		is   string
	}{
		{f.DTypes, c.DType},
		{f.Distributions, c.Distribution},
		{f.Upstreams, c.Upstream},
		{f.Layouts, c.Layout},
	} {
		if len(list.have) > 0 && !slices.Contains(list.have, list.is) {
			return false
		}
	}
	for name, text := range f.attributes {
		if c.Attrs.Text(name) != text {
			return false
		}
	}
	for name, bounds := range f.versions {
		if !within(bounds, versions[name]) {
			return false
		}
	}
	return f.holds(c)
}

// holds reports whether the case meets every condition.
func (f *Finding) holds(c Case) bool {
	value := func(name string) (int64, bool) {
		if n, ok := c.Dims.Lookup(name); ok {
			return n, true
		}
		a, ok := c.Attrs.Lookup(name)
		return int64(a.Number), ok
	}
	for _, e := range f.require {
		if v, err := e.Int(value); err != nil || v == 0 {
			return false
		}
	}
	return true
}

// bound is one comparison with a version.
type bound struct {
	comparison string
	version    []int
}

var boundText = regexp.MustCompile(`^(>=|<=|==|<|>)\s*([0-9]+(?:\.[0-9]+)*)$`)

// parseBounds reads comparisons, ">= 2.11, < 2.12".
func parseBounds(text string) ([]bound, error) {
	var all []bound
	for _, part := range strings.Split(text, ",") {
		m := boundText.FindStringSubmatch(strings.TrimSpace(part))
		if m == nil {
			return nil, fmt.Errorf("%q: want comparisons such as \">= 2.11, < 2.12\"", text)
		}
		all = append(all, bound{m[1], numbersOf(m[2])})
	}
	return all, nil
}

var versionStart = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*`)

// numbersOf returns the numbers that a version begins with: 2, 11, 0 of 2.11.0+cu130; nil where it begins
// with none.
func numbersOf(version string) []int {
	var numbers []int
	for _, part := range strings.FieldsFunc(versionStart.FindString(version),
		func(r rune) bool { return r == '.' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// within reports whether a version meets every bound; an unknown one meets none. Missing numbers are 0: 2.11
// is 2.11.0.
func within(bounds []bound, version string) bool {
	have := numbersOf(version)
	if have == nil {
		return false
	}
	for _, b := range bounds {
		order := compareVersions(have, b.version)
		met := map[string]bool{
			">=": order >= 0, "<=": order <= 0, "==": order == 0, "<": order < 0,
			">": order > 0,
		}
		if !met[b.comparison] {
			return false
		}
	}
	return true
}

func compareVersions(a, b []int) int {
	for len(a) < len(b) {
		a = append(slices.Clone(a), 0)
	}
	for len(b) < len(a) {
		b = append(slices.Clone(b), 0)
	}
	return slices.Compare(a, b)
}
