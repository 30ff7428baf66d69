package stats

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// series draws rounds of a kernel of 100 us: noise of each sample, a slow clock drift that both candidates
// share, and occasional hiccups.
func series(random *rand.Rand, n int, slower, noise, drift float64) (a, b []Round) {
	for i := range n {
		clock := 1 + drift*math.Sin(float64(i)/9)
		time := func(factor float64) Round {
			t := 1e5 * factor / clock * math.Exp(noise*random.NormFloat64())
			if random.Float64() < 0.03 {
				t *= 1.3 // another process used the card
			}
			return Round{Time: t, Least: t, Most: t, Clock: 1900 * clock}
		}
		a, b = append(a, time(slower)), append(b, time(1))
	}
	return a, b
}

// A planted slowdown of 3 % is found in at least 95 % of 40 tries, at the noise that memory-bound and
// compute-bound kernels show, and while the clock drifts by 10 %.
func TestPlantedSlowdownIsFound(t *testing.T) {
	for _, noise := range []float64{0.003, 0.01} {
		random := rand.New(rand.NewPCG(1, 2))
		found := 0
		for range 40 {
			x, y := series(random, 30, 1, noise, 0.1)
			bar := Compare(x, y, 0).Noise()
			a, b := series(random, 30, 1.03, noise, 0.1)
			if Compare(a, b, bar).SpeedVerdict == Slower {
				found++
			}
		}
		if found < 38 {
			t.Errorf("noise %v: found in %d of 40 tries", noise, found)
		}
	}
}

// The same kernel as both candidates is called faster or slower in at most 1 % of 1000 comparisons.
func TestSameKernelIsNotFaster(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	wrong := 0
	for range 1000 {
		a, b := series(random, 30, 1, 0.02, 0.1)
		if w := Compare(a, b, 0).SpeedVerdict; w == Faster || w == Slower {
			wrong++
		}
	}
	if wrong > 10 {
		t.Errorf("%d of 1000 A/A comparisons are called different", wrong)
	}
}

// noises are kinds of noise as timed rounds show it. Each gives a factor on the time of every sample of a
// round, one for each of two identical candidates.
var noises = map[string]func(random *rand.Rand) func(i int) (a, b float64){
	"lognormal 1 %": func(random *rand.Rand) func(int) (float64, float64) {
		return func(int) (float64, float64) {
			return math.Exp(0.01 * random.NormFloat64()), math.Exp(0.01 * random.NormFloat64())
		}
	},
	"lognormal 50 %": func(random *rand.Rand) func(int) (float64, float64) {
		return func(int) (float64, float64) {
			return math.Exp(0.5 * random.NormFloat64()), math.Exp(0.5 * random.NormFloat64())
		}
	},
	"Cauchy, 2 % wide": func(random *rand.Rand) func(int) (float64, float64) {
		tail := func() float64 { return 1 + 0.02*math.Abs(math.Tan(math.Pi*(random.Float64()-0.5))) }
		return func(int) (float64, float64) { return tail(), tail() }
	},
	"one round in five takes five times as long": func(random *rand.Rand) func(int) (float64, float64) {
		hiccup := func() float64 {
			if random.Float64() < 0.2 {
				return 5 * (1 + 0.1*random.Float64())
			}
			return 1 + 0.003*random.Float64()
		}
		return func(int) (float64, float64) { return hiccup(), hiccup() }
	},
	"a clock that falls by a third, whoever runs second is later": func(random *rand.Rand) func(int) (float64,
		float64) {
		return func(i int) (float64, float64) {
			first, second := 1+0.01*float64(2*i), 1+0.01*float64(2*i+1)
			if i%2 == 1 {
				first, second = second, first
			}
			return first * math.Exp(0.003*random.NormFloat64()), second * math.Exp(0.003*random.NormFloat64())
		}
	},
	"a walk that both share": func(random *rand.Rand) func(int) (float64, float64) {
		at := 0.0
		return func(int) (float64, float64) {
			at += 0.05 * random.NormFloat64()
			return math.Exp(at + 0.01*random.NormFloat64()), math.Exp(at + 0.01*random.NormFloat64())
		}
	},
}

// candidates draws n rounds of samples each of two implementations, the first of which takes factor times as
// long.
func candidates(random *rand.Rand, noise func(i int) (a, b float64), n, samples int, factor float64) (a,
	b []Round,
) {
	one := func(times float64) Round {
		all := make([]float64, samples)
		for k := range all {
			all[k] = 1e5 * times * math.Exp(0.002*random.NormFloat64())
		}
		return Round{Time: Median(all), Least: slices.Min(all), Most: slices.Max(all)}
	}
	for i := range n {
		x, y := noise(i)
		a, b = append(a, one(factor*x)), append(b, one(y))
	}
	return a, b
}

// The same kernel as both candidates is called faster or slower in at most 1 % of 1000 comparisons, in any
// number of rounds from three on, under noise with heavy tails and under drift, whatever bar an A/A
// comparison of the same kind set.
func TestNoiseIsNoDifference(t *testing.T) {
	for name, noise := range noises {
		for _, n := range []int{3, 5, 8, 9, 12, 30, 60} {
			random := rand.New(rand.NewPCG(uint64(n), 11))
			wrong := 0
			for range 1000 {
				bar := 0.0
				if random.IntN(2) == 0 {
					x, y := candidates(random, noise(random), n, 3, 1)
					bar = Compare(x, y, 0).Noise()
				}
				a, b := candidates(random, noise(random), n, 3, 1)
				if c := Compare(a, b, bar); c.SpeedVerdict == Faster || c.SpeedVerdict == Slower {
					wrong++
				}
			}
			if wrong > 10 {
				t.Errorf("%s, %d rounds: %d of 1000 are called different", name, n, wrong)
			}
		}
	}
}

// Whatever the noise and its bar, a ratio whose whole interval lies beyond a tenth is never AMBIGUOUS, and a
// verdict never contradicts its interval.
func TestWordFollowsFromInterval(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 13))
	worded := 0
	for range 20 {
		for _, name := range slices.Sorted(maps.Keys(noises)) {
			noise := noises[name]
			n, factor, bar := LeastRounds+random.IntN(40), math.Exp(random.NormFloat64()),
				0.3*random.Float64()
			a, b := candidates(random, noise(random), n, 1+random.IntN(5), factor)
			c := Compare(a, b, bar)
			beyond := c.Low > 1+MostNoise || c.High < 1-MostNoise
			if beyond {
				worded++
			}
			if beyond && c.SpeedVerdict == Ambiguous || c.SpeedVerdict == Faster && c.High >= 1 ||
				c.SpeedVerdict == Slower &&
					c.Low <= 1 {
				t.Errorf("%s, %d rounds, bar %.3f: %s at %.3f [%.3f, %.3f]", name, n, bar, c.SpeedVerdict,
					c.Ratio, c.Low, c.High)
			}
		}
	}
	if worded < 50 {
		t.Errorf("%d ratios lay beyond a tenth: too few to show anything", worded)
	}
}

// Ratios of 1.46, 10.03 and 707 have a verdict in eight rounds, whatever the bar; the two that lie apart have
// it in three.
func TestLargeRatiosHaveVerdicts(t *testing.T) {
	quiet := noises["lognormal 1 %"]
	for _, factor := range []float64{1.46, 10.03, 707} {
		random := rand.New(rand.NewPCG(14, 15))
		for _, n := range []int{2, 3, 7, 8} {
			a, b := candidates(random, quiet(random), n, 2, factor)
			want := Slower
			if n < ApartRounds || factor < ApartBy && n < LeastRounds {
				want = Ambiguous
			}
			c := Compare(a, b, 0.3)
			if c.SpeedVerdict != want || c.Low != slices.Min(c.Ratios) || c.High != slices.Max(c.Ratios) {
				t.Errorf("factor %v, %d rounds: %+v, want %s", factor, n, c, want)
			}
			if mirrored := Compare(b, a, 0.3); (mirrored.SpeedVerdict == Faster) != (want == Slower) {
				t.Errorf("factor %v, %d rounds, the other way round: %s", factor, n, mirrored.SpeedVerdict)
			}
		}
	}
	random := rand.New(rand.NewPCG(16, 17))
	a, b := candidates(random, quiet(random), 5, 2, 3)
	if b[4].Most = 2 * b[4].Most; Compare(a, b, 0).SpeedVerdict != Ambiguous {
		t.Error("one sample that is not below half of the other's: it is not apart in every round")
	}
}

func TestWords(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	quiet := func(factor float64) SpeedVerdict {
		a, b := series(random, 40, factor, 0.002, 0)
		return Compare(a, b, 0).SpeedVerdict
	}
	for factor, want := range map[float64]SpeedVerdict{0.9: Faster, 1.1: Slower, 1.001: Same} {
		if got := quiet(factor); got != want {
			t.Errorf("factor %v: %s, want %s", factor, got, want)
		}
	}
	a, b := series(random, 40, 1.015, 0.002, 0)
	if got := Compare(a, b, 0.05).SpeedVerdict; got != Same {
		t.Errorf("1.5 %% below a bar of 5 %%: %s", got)
	}
	a, b = series(random, 12, 1, 0.2, 0)
	if got := Compare(a, b, 0).SpeedVerdict; got != Ambiguous {
		t.Errorf("20 %% of noise: %s", got)
	}
	if c := Compare(a[:5], b[:5], 0); c.SpeedVerdict != Ambiguous || len(c.Ratios) != 5 {
		t.Errorf("five rounds: %+v", c)
	}
	if c := Compare(nil, nil, 0); c.SpeedVerdict != Ambiguous || c.Noise() != 0 {
		t.Errorf("no round: %+v", c)
	}
}

func round(time, clock float64) Round {
	return Round{Time: time, Least: time, Most: time, Clock: clock}
}

// A round in which only one candidate's clock fell is left out; a clock that a kernel always lowers is not.
func TestLoneClockDrift(t *testing.T) {
	var a, b []Round
	for i := range 30 {
		x, y := round(100, 1400), round(100, 1900)
		if i < 5 {
			x = round(130, 1000)
		}
		a, b = append(a, x), append(b, y)
	}
	if c := Compare(a, b, 0); c.Dropped != 5 || len(c.Ratios) != 25 || c.Ratio != 1 {
		t.Errorf("%+v", c)
	}
	a[7] = Round{}
	if c := Compare(a, b, 0); len(c.Ratios) != 24 {
		t.Errorf("a round without a part: %d ratios", len(c.Ratios))
	}
}

func TestSummarise(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	covered := 0
	for range 400 {
		samples := make([]float64, 30)
		for i := range samples {
			samples[i] = math.Exp(random.NormFloat64()) // the median is 1, the mean is not
		}
		if s := Summarise(samples); s.Low <= 1 && 1 <= s.High {
			covered++
		}
	}
	if covered < 372 {
		t.Errorf("the 95 %% interval holds the median in %d of 400 series", covered)
	}
	s := Summarise([]float64{5, 1, 3, 2, 4, 6, 100})
	if s.Median != 4 || s.Min != 1 || s.N != 7 || s.Unsupported {
		t.Errorf("%+v", s)
	}
	for _, few := range [][]float64{nil, {1, 2, 3}, {1, 2, 3, 4, 5, 6, 0}, {1, 1, 1, 1, 1, 1, math.Inf(1)}} {
		if s := Summarise(few); !math.IsInf(s.HalfWidth, 1) || Settled(few, 3, 1) {
			t.Errorf("%v: half width %v", few, s.HalfWidth)
		}
	}
}

// The stop rule waits for enough samples, then for a narrow interval.
func TestSettled(t *testing.T) {
	var quiet, noisy []float64
	for i := range 200 {
		quiet, noisy = append(quiet, 100+float64(i%3)*0.1), append(noisy, 100+float64(i*37%50))
	}
	if Settled(quiet[:29], 30, 0.005) || !Settled(quiet[:30], 30, 0.005) {
		t.Error("quiet samples settle at the least number")
	}
	if Settled(noisy[:100], 30, 0.005) {
		t.Error("noisy samples do not settle")
	}
}

func TestSlowClocks(t *testing.T) {
	got := SlowClocks([]float64{1900, 1890, 1600, 0, 1905, 1900}, 0.9)
	for i, want := range []bool{false, false, true, false, false, false} {
		if got[i] != want {
			t.Errorf("sample %d: %v, want %v", i, got[i], want)
		}
	}
}

func TestRoofline(t *testing.T) {
	r := Ceilings{Copy: 4e12, Read: 4.5e12, Write: 3e12, Products: map[string]float64{"bf16": 700e12}}
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 1e-9 }
	if got := r.Floor(Work{Bytes: 8e9, BytesRead: 4e9, BytesWritten: 4e9}); !near(got, 2e6) {
		t.Errorf("a copy of 8 GB: %v ns", got)
	}
	if got := r.Floor(Work{Bytes: 9e9, BytesRead: 9e9}); !near(got, 2e6) {
		t.Errorf("9 GB read: %v ns", got)
	}
	if got := r.Floor(Work{Bytes: 11e9, BytesRead: 4e9, BytesWritten: 7e9}); !near(got, 3e6) {
		t.Errorf("4 GB read and 7 written: %v ns", got)
	}
	if got := r.Floor(Work{Bytes: 1, BytesRead: 1, FLOPs: 7e12, Product: "bf16"}); !near(got, 1e7) {
		t.Errorf("7 TFLOP: %v ns", got)
	}
	if got := r.Floor(Work{FLOPs: 1, Product: "fp64"}); !math.IsNaN(got) {
		t.Errorf("no ceiling: %v", got)
	}
	if got := (Ceilings{Products: r.Products}).Floor(Work{
		Bytes: 1, BytesRead: 1, FLOPs: 7e12,
		Product: "bf16",
	}); !math.IsNaN(got) {
		t.Errorf("a floor without the bytes: %v", got)
	}
	if got := r.Floor(Work{
		Bytes: 8e9, BytesRead: 4e9, BytesWritten: 4e9, FLOPs: 70e9,
		Product: "e4m3",
	}); !math.IsNaN(got) {
		t.Errorf("a floor without the arithmetic: %v", got)
	}
	if got := r.Floor(Work{
		Bytes: 8e9, BytesRead: 4e9, BytesWritten: 4e9, FLOPs: 40e9,
		Product: "e4m3",
	}); !near(got, 2e6) {
		t.Errorf("a floor with little arithmetic: %v", got)
	}
	if got := (Ceilings{}).Floor(Work{Bytes: 5, BytesRead: 5}); !math.IsNaN(got) {
		t.Errorf("nothing measured: %v", got)
	}
}

func TestImpossible(t *testing.T) {
	l := Limits{Bytes: 4.8e12, FLOPs: 2e15}
	w := Work{Bytes: 48e9, FLOPs: 1}
	for _, c := range []struct {
		median     float64
		impossible bool
	}{{1e7, false}, {0.96e7, false}, {0.95e7, true}, {0, true}, {-1, true}, {math.NaN(), true}} {
		if _, got := l.Impossible(c.median, w); got != c.impossible {
			t.Errorf("48 GB in %v ns: impossible %v", c.median, got)
		}
	}
	if _, got := l.Impossible(1, Work{FLOPs: 3e6}); !got {
		t.Error("3 MFLOP in 1 ns is possible")
	}
	measured := Limits{Bytes: 4.8e12, Measured: 4.5e12}
	for median, impossible := range map[float64]bool{48e9 / 4.8e3: false, 48e9 / 4.83e3: true} {
		if why, got := measured.Impossible(median, w); got != impossible {
			t.Errorf("48 GB in %v ns where 4.5 TB/s were measured: %q", median, why)
		}
	}
	if _, got := (Limits{}).Impossible(1, Work{Bytes: 1e12}); got {
		t.Error("without a limit nothing is impossible")
	}
}
