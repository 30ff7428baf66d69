package kernelfile

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
)

// trial behaves like a function that is right only under some flags.
type trial struct {
	first   Tally
	right   string // flags of the reading that is right
	flat    Tally
	whole   Tally
	asked   []string
	untried bool // there was no time for another reading
}

func (t *trial) Read(other *Alternative) Tally {
	if other == nil {
		return t.first
	}
	t.asked = append(t.asked, other.Flags)
	if t.untried {
		return Tally{}
	}
	if other.Flags == t.right {
		return Tally{Right: 3}
	}
	return Tally{Wrong: 3}
}

func (t *trial) Flat() Tally  { return t.flat }
func (t *trial) Whole() Tally { return t.whole }
func (t *trial) Late() bool   { return t.untried && len(t.asked) > 0 }

// settleCases holds the functions of testdata/settle.toml.
type settleCases struct {
	Cases []struct {
		Name, Operator, Text string
		Said                 string // flags of the user
		Right, Wrong         int    // of the trials of the first reading
		Reached, Raised      int    // of the wrong ones
		Python               bool
		RightWith            string `toml:"right_with"` // the flags with which it is right
		FlatRight            int    `toml:"flat_right"`
		FlatWrong            int    `toml:"flat_wrong"`
		WholeRight           int    `toml:"whole_right"` // at whole tiles
		OfCalls              bool   `toml:"of_calls"`    // an exception about a function's arguments
		Words                string // of the first one without numbers
		Taken, Doubt         string
		Untried              bool
		// what right trials leave open: of every case, of other sizes, of other dtypes
		Unshown     string
		OtherSizes  string `toml:"other_sizes"`
		OtherDTypes string `toml:"other_dtypes"`
	}
}

// A wrong answer counts against a function only if nothing was assumed that may be to blame.
func TestSettle(t *testing.T) {
	for _, c := range readTable[settleCases](t, "settle.toml").Cases {
		options := apply(t, Options{}, c.Said)
		r := Request{Parse: parsed}
		if c.Python {
			r.Path = "mine.py"
		}
		all, err := Bind(r.Read(c.Text, nil), r, spec(t, c.Operator), []op.Pass{op.Forward}, options)
		if err != nil {
			t.Fatal(err)
		}
		try := &trial{
			first: Tally{
				Right: c.Right, Wrong: c.Wrong, Reached: c.Reached, Raised: c.Raised, OfCalls: c.OfCalls,
				Words: c.Words, Why: all[0].NoNumbers(c.Words, c.Raised > 0 && c.Words == ""),
			},
			right: c.RightWith,
			flat:  Tally{Right: c.FlatRight, Wrong: c.FlatWrong},
			whole: Tally{Right: c.WholeRight}, untried: c.Untried,
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
		for _, other := range all[0].Alternatives() { // what the definition fixes is never taken
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

// headsAndTokens returns an operator whose tensors may be laid out token by token, with one size that counts
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

// A lone kernel is launched as its own file launches it.
func TestLaunchOfTheFile(t *testing.T) {
	const kernel = "#define WIDE 96\n__global__ void k(const float* x, float* y, int rows, int cols) " +
		"{ int i = threadIdx.x; y[i] = x[blockIdx.x * cols + i]; }\nint main() { int n = 128, d = 64; "
	for _, c := range [][2]string{
		{"k<<<n, WIDE>>>(a, b, n, d); }", "grid (rows) and block (96)"},
		{
			"dim3 block(32, 4); dim3 grid((n + 3) / 4, 1); k<<<grid, block>>>(a, b, n, d); }",
			"grid ((rows + 3)/4) and block (32, 4)",
		},
		{
			"int t = 64; int g = (d + t - 1) / t; k<<<g, t>>>(a, b, n, d); }",
			"grid ((cols + (64) - 1) / (64)) and block (64)",
		},
		{"k<<<f(n), g(n)>>>(a, b, n, d); }", "grid (rows) and block (256)"},
		{"int blocks = 128; k<<<blocks, 32>>>(a, b, n, d); }", "grid (rows) and block (32)"},
		{"other<<<7, 32>>>(a); }", "grid (rows) and block (256)"},
	} {
		call, want := c[0], c[1]
		all, err := Bind(ReadCUDA(kernel+call), Request{}, rowsAndCols(t), []op.Pass{op.Forward},
			Options{})
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		plain := strings.ReplaceAll(all[0].Launch.String(), " ", "")
		if !strings.HasPrefix(plain, strings.ReplaceAll(want, " ", "")) {
			t.Errorf("%s: %s, want %s", call, all[0].Launch, want)
		}
	}
}

// racing is a trial of a kernel that races, in every launch or in some; with one warp it would be right.
type racing struct {
	first, others Tally
	oneWarp       bool // it was tried
}

func (r *racing) Read(other *Alternative) Tally {
	if other == nil {
		return r.first
	}
	if other.isOneWarp() {
		r.oneWarp = true
		return Tally{Right: 3}
	}
	return r.others
}
func (r *racing) Flat() Tally  { return r.others }
func (r *racing) Whole() Tally { return r.others }
func (r *racing) Late() bool   { return false }

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
	all, err := Bind(ReadCUDA(text), Request{}, rowsAndCols(t), []op.Pass{op.Forward}, Options{})
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
