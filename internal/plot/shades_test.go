package plot

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every shade of a map stands out more from the ground than the one before, in light and in dark: the worst
// is strongest.
func TestTheWorstShadeIsStrongest(t *testing.T) {
	light, dark, found := strings.Cut(Style, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("there are no dark colours")
	}
	for name, style := range map[string]string{"light": light, "dark": dark} {
		ground := luminance(t, style, "--ground")
		last := 1.0
		for i := range steps {
			l := luminance(t, style, "--h"+strconv.Itoa(i))
			contrast := (math.Max(l, ground) + 0.05) / (math.Min(l, ground) + 0.05)
			if contrast <= last {
				t.Errorf("%s: shade %d has contrast %.2f, the one before %.2f", name, i, contrast, last)
			}
			last = contrast
		}
	}
}

// luminance returns the relative luminance of a colour of a style sheet.
func luminance(t *testing.T, style, name string) (sum float64) {
	t.Helper()
	m := regexp.MustCompile(name + `: #(..)(..)(..);`).FindStringSubmatch(style)
	if m == nil {
		t.Fatalf("there is no colour %s", name)
	}
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(m[i+1], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.03928 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += share * c
	}
	return sum
}
