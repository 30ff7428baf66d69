package ownfile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// trial behaves like a function that is right only under some flags.
type trial struct {
	first   Tally
	right   string // flags of the interpretation that is right
	flat    Tally
	whole   Tally
	asked   []string
	untried bool // there was no time for another interpretation
	refuses bool // it declines every other interpretation
}

func (t *trial) Read(other *binding.Alternative) Tally {
	if other == nil {
		return t.first
	}
	t.asked = append(t.asked, other.Flags)
	if t.untried || t.refuses {
		return Tally{}
	}
	if other.Flags == t.right {
		return Tally{Right: 3}
	}
	return Tally{Wrong: 3}
}

func (t *trial) Flat() Tally { return t.flat }

func (t *trial) Whole() Tally { return t.whole }

func (t *trial) Late() bool { return t.untried && len(t.asked) > 0 }

// settleCases holds the functions of testdata/settle.toml.
type settleCases struct {
	Cases []struct {
		Name, Operator, Text string
		Said                 string // flags of the user
		Right, Wrong         int    // of the trials of the first interpretation
		Reached, Raised      int    // of the wrong ones
		Python               bool
		RightWith            string `toml:"right_with"` // the flags with which it is right
		FlatRight            int    `toml:"flat_right"`
		FlatWrong            int    `toml:"flat_wrong"`
		WholeRight           int    `toml:"whole_right"` // at whole tiles
		OfCalls              bool   `toml:"of_calls"`    // an exception about a function's arguments
		Words                string // of the first one without numbers
		Taken, Doubt         string
		Untried, Refuses     bool
		// what right trials leave open: of every case, of other sizes, of other dtypes
		Unshown     string
		OtherSizes  string `toml:"other_sizes"`
		OtherDTypes string `toml:"other_dtypes"`
	}
}

// A wrong answer counts against a function only if nothing was assumed that may be to blame.
func TestSettle(t *testing.T) {
	for _, c := range readTable[settleCases](t, "settle.toml").Cases {
		options := apply(t, binding.Options{}, c.Said)
		r := binding.Request{Path: "x.cu", Parse: parsed}
		if c.Python {
			r.Path = "mine.py"
		}
		all, err := Bind(Read(r, c.Text, nil), r, spec(t, c.Operator), []op.Pass{op.Forward}, options)
		if err != nil {
			t.Fatal(err)
		}
		try := &trial{
			first: Tally{
				Right: c.Right, Wrong: c.Wrong, Reached: c.Reached, Raised: c.Raised, OfCalls: c.OfCalls,
				Words: c.Words, Why: WhyNoNumbers(all[0], c.Words, c.Raised > 0 && c.Words == ""),
			},
			right: c.RightWith,
			flat:  Tally{Right: c.FlatRight, Wrong: c.FlatWrong},
			whole: Tally{Right: c.WholeRight}, untried: c.Untried, refuses: c.Refuses,
		}
		got := Settle(all[0], try)
		taken := ""
		if got.Taken != nil {
			taken = got.Taken.Flags
		}
		if taken != c.Taken || !strings.Contains(got.Doubt, c.Doubt) || (got.Doubt == "") != (c.Doubt == "") {
			t.Errorf("%s: took %q, doubts %q; want %q and %q (tried %q)", c.Name, taken, got.Doubt, c.Taken,
				c.Doubt, try.asked)
		}
		for _, later := range [][2]string{
			{got.Unshown, c.Unshown},
			{got.OtherSizes, c.OtherSizes},
			{got.OtherDTypes, c.OtherDTypes},
		} {
			if !strings.Contains(later[0], later[1]) || (later[0] == "") != (later[1] == "") {
				t.Errorf("%s: leaves open %q, want %q", c.Name, later[0], later[1])
			}
		}
		for _, other := range Alternatives(all[0]) { // what the definition fixes is never taken
			fixed := slices.ContainsFunc(
				slices.Collect(maps.Values(other.Options.Map)),
				func(word string) bool {
					return strings.ContainsAny(word, "+:")
				},
			)
			if (len(other.Options.Attrs) > 0) != (other.Attribute != "") || fixed && !other.Proposed {
				t.Errorf("%s: %s would be taken", c.Name, other.Flags)
			}
		}
	}
}

// rowsAndCols returns the spec of an operator of rows and columns, x to y, for which a single size is not the
// side of a square.
func rowsAndCols(t *testing.T) *op.Spec {
	t.Helper()
	for _, name := range catalog.Names() {
		s := spec(t, name)
		_, square := s.Synonyms["rows = cols"]
		if len(s.InputSpecs) == 1 && len(s.Dims) == 2 && len(s.Attributes) == 0 && s.Dims[0].Name == "rows" &&
			!square {
			return s
		}
	}
	t.Fatal("no operator of rows and columns")
	return nil
}

// headsAndTokens returns an operator whose tensors may be laid out as BSHD, with one size that counts
// a whole token.
func headsAndTokens(t *testing.T) *op.Spec {
	t.Helper()
	for _, name := range catalog.Names() {
		if s := spec(t, name); len(s.Own.Tokens) > 0 && s.Own.TokenSize != "" {
			return s
		}
	}
	t.Fatal("no operator of heads and tokens")
	return nil
}

// Which side of a grid that main() had for a square is which, the lines of the kernel say.
func TestGridOfASquare(t *testing.T) {
	file := seen("__global__ void t(float *x, float *y, int height, int width) { "+
		"int r = blockIdx.x * 16 + threadIdx.x, c = blockIdx.y * 16 + threadIdx.y; "+
		"if (r < height && c < width) y[c * height + r] = x[r * width + c]; }", memory(4096), memory(4096),
		seenLaunch("t", [3]int64{4, 4, 1}, [3]int64{16, 16, 1}, 0, to(0), to(1), int64(64), int64(64)))
	all, err := Bind(file, binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `grid (ceildiv(rows, 16), ceildiv(cols, 16)) and block (16, 16)`
	if got := all[0].Launch.String(); !strings.HasPrefix(got, want) {
		t.Errorf("launched with %s, want %s", got, want)
	}
}

// The template arguments of a kernel are those with which main() launches it.
func TestArgumentsOfTheLaunch(t *testing.T) {
	file := seen("template <int TILE, class T> __global__ void k(const T* x, T* y, int rows, int cols) "+
		"{ y[blockIdx.x * cols + TILE] = x[0]; }", memory(4096), memory(4096),
		seenLaunch("k<128, float>", side(64), side(128), 0, to(0), to(1), int64(64), int64(64)))
	all, err := Bind(file, binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := all[0].Options.Arguments; !slices.Equal(got, []string{"128", "float"}) {
		t.Errorf("arguments %q", got)
	}
}

// A lone kernel is launched as main() launches it, in the operator's sizes as far as they follow from those
// that it had there.
func TestLaunchOfTheFile(t *testing.T) {
	const kernel = "__global__ void k(const float* x, float* y, int rows, int cols) " +
		"{ int i = threadIdx.x; y[i] = x[blockIdx.x * cols + i]; } int main() { k<<<1, 2>>>(0, 0, 0, 0); }"
	for _, c := range []struct {
		grid, block [3]int64
		shared      int64
		cols        int64
		want        string
		guessed     bool
	}{
		{side(125), side(96), 0, 64, "grid (rows) and block (96)", false},
		{side(32), [3]int64{32, 4, 1}, 0, 64, "grid (ceildiv(rows, 4)) and block (32, 4)", false},
		{[3]int64{4, 125, 1}, side(16), 0, 64, "grid (ceildiv(cols, 16), rows) and block (16)", false},
		{side(77), side(32), 0, 64, "grid (rows) and block (32)", true},
		{side(125), side(32), 0, 125, "grid (rows) and block (32)", false},
		{side(1), side(32), 0, 64, "grid (rows) and block (32)", true},
		{side(125), side(96), 768, 100, "grid (rows) and block (96), 96 * 8 bytes", false},
		{side(125), side(96), 256, 64, "grid (rows) and block (96), cols * 4 bytes", false},
	} {
		text := kernel
		if c.shared > 0 {
			text = strings.Replace(kernel, "{ int i", "{ extern __shared__ float s[]; int i", 1)
		}
		file := seen(text, memory(125*c.cols), memory(125*c.cols),
			seenLaunch("k", c.grid, c.block, c.shared, to(0), to(1), int64(125), c.cols))
		all, err := Bind(file, binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l := all[0].Launch
		if !strings.HasPrefix(l.String(), c.want) || l.Guessed != c.guessed {
			t.Errorf("%v, %v: %s, guessed %t, want %s", c.grid, c.block, l, l.Guessed, c.want)
		}
	}
}

// equalSizes holds the kernels of testdata/equal_sizes.toml.
type equalSizes struct {
	Cases []struct {
		Operator, Text, Launch string
		Side, Elements         int64
		Grid, Block            [3]int64
	}
}

// Sizes that one parameter gives are one size for the launch that main() makes; a block of all elements is
// one of the product of their sizes.
func TestLaunchOfEqualSizes(t *testing.T) {
	for _, c := range readTable[equalSizes](t, "equal_sizes.toml").Cases {
		of := memory(c.Elements)
		file := seen(c.Text, of, of, of, seenLaunch("k", c.Grid, c.Block, 0, to(0), to(1), to(2), c.Side))
		all, err := Bind(file, binding.Request{}, spec(t, c.Operator), []op.Pass{op.Forward},
			binding.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if l := all[0].Launch; !strings.HasPrefix(l.String(), c.Launch) || l.Guessed {
			t.Errorf("%s: %s, guessed %t, want %s, known", c.Operator, l, l.Guessed, c.Launch)
		}
	}
}

// racing is a trial of a kernel that races, in every launch or in some; with one warp it would be right.
type racing struct {
	first, others Tally
	oneWarp       bool // it was tried
}

func (r *racing) Read(other *binding.Alternative) Tally {
	if other == nil {
		return r.first
	}
	if isOneWarp(*other) {
		r.oneWarp = true
		return Tally{Right: 3}
	}
	return r.others
}

func (r *racing) Flat() Tally { return r.others }

func (r *racing) Whole() Tally { return r.others }

func (r *racing) Late() bool { return false }

// A guessed launch does not excuse a race that occurs in every launch that is tried. Blocks of one warp,
// which have nothing to race with, are not tried.
func TestSettleRaces(t *testing.T) {
	const text = `__global__ void k(const float *x, float *y, int rows, int cols) {
	extern __shared__ float part[];
	for (int c = threadIdx.x; c < cols; c += blockDim.x) part[threadIdx.x] += x[blockIdx.x * cols + c];
	for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = part[0];
}
`
	raced, wrong := Tally{Wrong: 4, Raced: 4}, Tally{Wrong: 4}
	all, err := Bind(cfacts.ReadCUDA(text), binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward},
		binding.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first, others Tally
		races         bool
	}{
		{raced, raced, true},
		{raced, wrong, false},
		{wrong, raced, false},
		{Tally{Wrong: 4, Raced: 3}, raced, false},
	} {
		try := &racing{first: c.first, others: c.others}
		got := Settle(all[0], try)
		if got.Races != c.races || c.first.Raced > 0 && (try.oneWarp || got.Taken != nil || got.Doubt == "") {
			t.Errorf("first %+v, others %+v: races %t, doubts %q, one warp tried: %t", c.first, c.others,
				got.Races, got.Doubt, try.oneWarp)
		}
	}
}
