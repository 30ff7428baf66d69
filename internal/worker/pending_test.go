package worker

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
)

// Pending requests are listed with the longest deadline; once all are over, the text is empty.
func TestPending(t *testing.T) {
	var d Pending
	if d.String() != "" || (*Pending)(nil).String() != "" {
		t.Errorf("%q of nothing", d.String())
	}
	first, second := d.begin("mine/a", time.Minute), d.begin("loading softmax in the worker of mine/b",
		10*time.Minute)
	if got := d.String(); got != "mine/a, loading softmax in the worker of mine/b, at most 10m0s" {
		t.Error(got)
	}
	second()
	if got := d.String(); got != "mine/a, at most 1m0s" {
		t.Error(got)
	}
	if first(); d.String() != "" {
		t.Error(d.String())
	}
}

// While a worker loads or runs, the adapter says so; an import that never ends is named with its limit.
func TestAdapterTellsWhatItDoes(t *testing.T) {
	for mode, want := range map[string]string{
		"hangs":               "^fake/one, at most [12]s$",
		"hangs while loading": "^loading copy in the worker of fake, at most [12]s$",
	} {
		d := &Pending{}
		a := fakeAdapter(t, mode, func(o *Options) {
			o.Pending = d
			if mode == "hangs while loading" {
				o.Limits.Build = time.Second
			}
		})
		over := make(chan error)
		go func() {
			_, err := a.Run(t.Context(), fakeJob())
			over <- err
		}()
		var err error
		pattern, seen := regexp.MustCompile(want), false
		for running := true; running; {
			select {
			case err = <-over:
				running = false
			case <-time.After(5 * time.Millisecond):
				seen = seen || pattern.MatchString(d.String())
			}
		}
		if !seen || d.String() != "" {
			t.Errorf("%s: %q was never said, and %q is left", mode, want, d.String())
		}
		var broken *backend.BuildFailure
		if mode == "hangs while loading" && (!errors.As(err, &broken) || !strings.Contains(broken.Sentence,
			"loading copy in the worker of fake did not end: no answer to load within 1s")) {
			t.Errorf("%v", err)
		}
	}
}

// A file whose import does not end is not known to be wrong if LongLoad gives advice.
func TestLongLoadIsNoFailure(t *testing.T) {
	a := fakeAdapter(t, "hangs while loading", func(o *Options) { o.Limits.Build = time.Second })
	a.LongLoad = "give it longer"
	_, err := a.Run(t.Context(), fakeJob())
	var missing *backend.Unavailable
	if !errors.As(err, &missing) ||
		!strings.Contains(missing.Sentence, "did not end: no answer to load within 1s") ||
		!strings.HasSuffix(missing.Sentence, ": give it longer") {
		t.Errorf("%v", err)
	}
}
