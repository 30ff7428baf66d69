package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"triad/internal/browser"
	"triad/internal/report"
)

// A page of files follows what is shown: it changes without being loaded again, what is open stays open, a
// tick comes when a file turns right, and its end is said. Without the token nothing is shown.
func TestALivePageFollows(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	live, err := NewLive(listener)
	if err != nil {
		t.Fatal(err)
	}
	show := func(weight string) {
		live.Show(func(address, state string) report.Document {
			return report.FilesDocument(report.LookedAt{Watched: true, Files: []report.FileShown{{
				Name: "a.cu", Done: true, Weight: weight, Verdict: strings.ToUpper(weight), Source: "x;\n",
			}}}, address, state, time.Now())
		})
	}
	show("bad")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- live.Serve(ctx) }()
	address := listener.Addr().String()
	for path, want := range map[string]int{"/": http.StatusForbidden, contentsAddress: http.StatusForbidden} {
		if status, text := send(t, address, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path,
			address)); status != want || strings.Contains(text, "a.cu") {
			t.Errorf("%s without the token: %d", path, status)
		}
	}
	p := browser.Open(t)
	p.Size(1024, 800, false)
	p.Go(live.Address())
	wait := func(what string) {
		t.Helper()
		p.Eval(`new Promise((done) => { const look = () => document.body.innerText.includes("`+what+
			`") ? done(0) : setTimeout(look, 20); look(); })`, nil)
	}
	wait("1 file wrong")
	p.Eval(`document.querySelector("details").open = true; window.same = true`, nil)
	show("good")
	wait("all right")
	same, mark := false, ""
	p.Eval(`window.same && document.querySelector("details").open`, &same)
	p.Eval(`document.querySelector(".mark.good").textContent`, &mark)
	if !same || mark != "✓" {
		t.Errorf("the same page with what is open: %v; its mark is %q", same, mark)
	}
	if found := append(p.Axe(), p.Errors()...); len(found) > 0 {
		t.Error(found)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	wait("triad has ended")
}
