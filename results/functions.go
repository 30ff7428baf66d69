package results

import (
	"errors"
	"math"
	"slices"

	"github.com/mattn/go-sqlite3"
)

// registerFunctions adds to a connection the functions that queries about measurements need and that SQLite
// is built without: they come with the connection, not with a build tag. NULL, values that are no numbers and
// NaN give NULL, as with SQLite's own functions.
func registerFunctions(conn *sqlite3.SQLiteConn) error {
	one := map[string]func(float64) float64{
		"sqrt": math.Sqrt, "cbrt": math.Cbrt, "exp": math.Exp, "ln": math.Log, "log10": math.Log10,
		"log2": math.Log2, "floor": math.Floor,
		"ceil": math.Ceil, "ceiling": math.Ceil, "trunc": math.Trunc,
	}
	for name, f := range one {
		if err := conn.RegisterFunc(name, func(x any) any { return apply1(f, x) }, true); err != nil {
			return err
		}
	}
	two := map[string]func(a, b float64) float64{"pow": math.Pow, "power": math.Pow, "mod": math.Mod}
	for name, f := range two {
		if err := conn.RegisterFunc(name, func(x, y any) any { return apply2(f, x, y) }, true); err != nil {
			return err
		}
	}
	// As in SQLite: log(x) is to base 10, log(b, x) to base b.
	logarithm := func(args ...any) (any, error) {
		switch len(args) {
		case 1:
			return apply1(math.Log10, args[0]), nil
		case 2:
			return apply2(func(b, x float64) float64 { return math.Log(x) / math.Log(b) }, args[0], args[1]),
				nil
		}
		return nil, errors.New("log takes one number, or a base and a number")
	}
	if err := conn.RegisterFunc("log", logarithm, true); err != nil {
		return err
	}
	kept := new(int)
	aggregates := map[string]any{
		"median":     func() *sampleOne { return &sampleOne{kept: kept, finish: median} },
		"stddev":     func() *sampleOne { return &sampleOne{kept: kept, finish: standardDeviation} },
		"geomean":    func() *sampleOne { return &sampleOne{kept: kept, finish: geometricMean} },
		"percentile": func() *samplePercentile { return &samplePercentile{sampleOne: sampleOne{kept: kept}} },
	}
	for name, constructor := range aggregates {
		if err := conn.RegisterAggregator(name, constructor, true); err != nil {
			return err
		}
	}
	return nil
}

// asNumber reads an SQL number; text, blobs and NULL are not numbers.
func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func apply1(f func(float64) float64, x any) any {
	v, ok := asNumber(x)
	if !ok {
		return nil
	}
	return orNaN(f(v))
}

func apply2(f func(a, b float64) float64, x, y any) any {
	a, okA := asNumber(x)
	b, okB := asNumber(y)
	if !okA || !okB {
		return nil
	}
	return orNaN(f(a, b))
}

// orNaN returns a result that SQL can hold: NULL for NaN.
func orNaN(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return v
}

// mostSamples bounds what all aggregates of a connection keep at a time, because SQLite's heap limit does not
// see this memory: 8 MB.
const mostSamples = 1 << 20

var errTooManySamples = errors.New("more than 1048576 numbers in aggregates at a time: filter, or group " +
	"further")

// sampleOne gathers numbers and finishes them to one.
type sampleOne struct {
	values []float64
	kept   *int // numbers in all aggregates of the connection
	finish func([]float64) float64
}

// Step takes a value; one that is no number is left out, as SQL's aggregates do.
func (s *sampleOne) Step(x any) error {
	if v, ok := asNumber(x); ok {
		if *s.kept == mostSamples {
			return errTooManySamples
		}
		*s.kept++
		s.values = append(s.values, v)
	}
	return nil
}

// Done returns the result, NULL if there was no number.
func (s *sampleOne) Done() (any, error) {
	*s.kept -= len(s.values)
	if len(s.values) == 0 {
		return nil, nil
	}
	return orNaN(s.finish(s.values)), nil
}

// samplePercentile is percentile(x, p) with p from 0 to 100, linear between the two nearest, as SQLite's
// extension has it.
type samplePercentile struct {
	sampleOne
	p   float64
	set bool
}

// Step takes a value and the percentage, which must be the same in every row.
func (s *samplePercentile) Step(x, p any) error {
	percent, ok := asNumber(p)
	if !ok || !(0 <= percent && percent <= 100) || s.set && percent != s.p {
		return errors.New("percentile(x, p) takes one p from 0 to 100")
	}
	s.p, s.set = percent, true
	return s.sampleOne.Step(x)
}

// Done returns the percentile, NULL if there was no number.
func (s *samplePercentile) Done() (any, error) {
	s.finish = func(x []float64) float64 { return quantile(x, s.p/100) }
	return s.sampleOne.Done()
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the value at a fraction of the sorted numbers, linear between neighbours.
func quantile(values []float64, fraction float64) float64 {
	slices.Sort(values)
	at := fraction * float64(len(values)-1)
	low := int(math.Floor(at))
	if low+1 >= len(values) {
		return values[len(values)-1]
	}
	if rest := at - float64(low); rest > 0 {
		return values[low] + rest*(values[low+1]-values[low])
	}
	return values[low]
}

// standardDeviation returns the standard deviation of a sample (divisor n - 1); 0 for one number. It makes
// two passes to avoid cancellation.
func standardDeviation(values []float64) float64 {
	if len(values) == 1 {
		return 0
	}
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	sum := 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}

// geometricMean returns the geometric mean of ratios; NaN, and so NULL, if one is negative.
func geometricMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}
