// Package browser is for tests only: a page in a headless Chromium, driven through the DevTools protocol on
// two pipes.
package browser

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"triad/internal/need"
	"triad/internal/panics"
	"triad/internal/subprocess"
)

// axe is axe-core 4.14.1, which finds what a page hides from those who cannot see it or use no mouse.
//
//go:embed testdata/axe.min.js
var axe string

// patience is the longest time that a command of the protocol may take.
const patience = 60 * time.Second

// Page is one page of a browser.
type Page struct {
	t       testing.TB
	out     *os.File
	lines   chan message
	last    int
	session string
	errors  []string // of scripts, and what a policy refused
	loaded  bool
}

type message struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Open starts a browser with an empty page and closes it when the test ends. Without Chromium the test is
// skipped.
func Open(t testing.TB) *Page {
	t.Helper()
	read, theirs := pipe(t)
	theirsToo, write := pipe(t)
	process, err := subprocess.Start(subprocess.Command{
		Path: need.Tool(t, "chromium"),
		Args: []string{
			"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
			"--no-first-run", "--disable-background-networking", "--remote-debugging-pipe",
			"--user-data-dir=" + t.TempDir(),
		},
		Files: []*os.File{theirsToo, theirs}, // the browser reads 3 and writes 4
	})
	if err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	theirs.Close()
	theirsToo.Close()
	p := &Page{t: t, out: write, lines: make(chan message, 1000)}
	panics.Go(func() { p.listen(read) }, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		write.Close()
		process.End()
		read.Close()
	})
	var target struct{ TargetID string }
	p.into(p.call("Target.createTarget", map[string]any{"url": "about:blank"}), &target)
	var attached struct{ SessionID string }
	p.into(p.call("Target.attachToTarget",
		map[string]any{"targetId": target.TargetID, "flatten": true}), &attached)
	p.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.call(domain+".enable", nil)
	}
	return p
}

func pipe(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

// listen reads messages, which end with NUL.
func (p *Page) listen(from *os.File) {
	defer close(p.lines)
	reader := bufio.NewReaderSize(from, 1<<20)
	for {
		text, err := reader.ReadString(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal([]byte(strings.TrimSuffix(text, "\x00")), &m) == nil {
			p.lines <- m
		}
	}
}

// call runs a command of the protocol and returns its result.
func (p *Page) call(method string, params any) json.RawMessage {
	p.t.Helper()
	p.last++
	request := map[string]any{"id": p.last, "method": method}
	if params != nil {
		request["params"] = params
	}
	if p.session != "" {
		request["sessionId"] = p.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.out.Write(append(text, 0)); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	id := p.last
	return p.until(method, func(m message) bool { return m.ID == id })
}

// until handles messages up to the expected one.
func (p *Page) until(what string, found func(message) bool) json.RawMessage {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m, open := <-p.lines:
			if !open {
				p.t.Fatalf("%s: chromium has ended", what)
			}
			p.note(m)
			if found(m) {
				if m.Error != nil {
					p.t.Fatalf("%s: %s", what, m.Error.Message)
				}
				return m.Result
			}
		case <-timeout:
			p.t.Fatalf("%s: chromium has not answered for %v", what, patience)
		}
	}
}

// note records errors of the page, and that it is loaded.
func (p *Page) note(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		p.loaded = true
	case "Runtime.exceptionThrown":
		p.errors = append(p.errors, string(m.Params))
	case "Log.entryAdded":
		var entry struct {
			Entry struct{ Level, Text, URL string }
		}
		p.into(m.Params, &entry)
		if entry.Entry.Level == "error" {
			p.errors = append(p.errors, entry.Entry.Text+" "+entry.Entry.URL)
		}
	}
}

func (p *Page) into(from json.RawMessage, to any) {
	p.t.Helper()
	if err := json.Unmarshal(from, to); err != nil {
		p.t.Fatalf("read %s: %v", from, err)
	}
}

// Size sets the size of the window in CSS pixels; dark requests dark colours.
func (p *Page) Size(width, height int, dark bool) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500,
	})
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	})
}

// Script sets whether pages may run scripts.
func (p *Page) Script(runs bool) {
	p.t.Helper()
	p.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !runs})
}

// Go opens an address and waits until it is loaded.
func (p *Page) Go(address string) {
	p.t.Helper()
	p.loaded, p.errors = false, nil
	var result struct{ ErrorText string }
	p.into(p.call("Page.navigate", map[string]any{"url": address}), &result)
	if result.ErrorText != "" {
		p.t.Fatalf("open %s: %s", address, result.ErrorText)
	}
	p.Loaded()
}

// Expect announces that another page will be opened: Loaded waits for it.
func (p *Page) Expect() { p.loaded = false }

// Loaded waits until the page that is being opened is loaded.
func (p *Page) Loaded() {
	p.t.Helper()
	if !p.loaded {
		p.until("load the page", func(m message) bool { return m.Method == "Page.loadEventFired" })
	}
}

// Follow runs an expression that leads to another page, and waits until it is loaded.
func (p *Page) Follow(expression string) {
	p.t.Helper()
	p.loaded = false
	p.Eval(expression, nil)
	p.Loaded()
}

// Eval runs an expression on the page and decodes its value, as JSON, into to; nil discards it.
func (p *Page) Eval(expression string, to any) {
	p.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.into(p.call("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true,
	}), &answer)
	if answer.ExceptionDetails != nil {
		p.t.Fatalf("run %.200s: %s", expression, answer.ExceptionDetails)
	}
	if to != nil {
		p.into(answer.Result.Value, to)
	}
}

// Press types into the focused element, as a keyboard does.
func (p *Page) Press(words string) {
	p.t.Helper()
	p.call("Input.insertText", map[string]any{"text": words})
}

// Errors returns the errors of the page's scripts since it was opened, and what its policy refused.
func (p *Page) Errors() []string {
	p.t.Helper()
	p.Eval("0", nil) // what was reported before has arrived by then
	return p.errors
}

// Overflow returns by how many pixels the page is wider than its window.
func (p *Page) Overflow() (pixels int) {
	p.t.Helper()
	p.settle(func() bool {
		p.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &pixels)
		return pixels <= 0
	})
	return pixels
}

// settle repeats a look at the page until it finds nothing, or the page has had time enough to take its final
// layout: on a busy machine that comes after the event that says it is loaded.
func (p *Page) settle(clean func() bool) {
	p.t.Helper()
	for until := time.Now().Add(2 * time.Second); !clean() && time.Now().Before(until); {
		time.Sleep(100 * time.Millisecond)
	}
}

// Cut lists the elements of which a part can only be seen by scrolling sideways, and the drawings that are
// wider than their place.
func (p *Page) Cut() (found []string) {
	p.t.Helper()
	const look = `Array.from(document.querySelectorAll("body *")).filter((e) => e.clientWidth > 0 &&
		e.scrollWidth > e.clientWidth + 1 && !["visible", "clip"].includes(getComputedStyle(e).overflowX) &&
		!["INPUT", "SELECT", "TEXTAREA"].includes(e.tagName)).map((e) => e.tagName + "." + e.className + " " +
		(e.scrollWidth - e.clientWidth) + " pixels: " + e.textContent.trim().slice(0, 60))`
	p.settle(func() bool {
		found = nil
		p.Eval(look, &found)
		return len(found) == 0
	})
	return found
}

// Axe lists what axe-core reports of the page.
func (p *Page) Axe() (found []string) {
	p.t.Helper()
	p.Eval(axe+";0", nil)
	p.Eval(`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.flatMap((v) =>
		v.nodes.map((n) => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + " " +
		n.failureSummary)))`, &found)
	return found
}

// Picture returns the page as a PNG, whole or down to a height, in base64 as the protocol gives it.
func (p *Page) Picture(width, height int) string {
	p.t.Helper()
	var picture struct{ Data string }
	p.into(p.call("Page.captureScreenshot", map[string]any{
		"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
	}), &picture)
	return picture.Data
}

// Height returns the height of the page.
func (p *Page) Height() (pixels int) {
	p.t.Helper()
	p.Eval("Math.ceil(document.documentElement.getBoundingClientRect().height)", &pixels)
	return pixels
}

// File returns the address of a file.
func File(path string) string { return fmt.Sprintf("file://%s", path) }
