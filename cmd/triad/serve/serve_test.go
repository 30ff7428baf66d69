package serve

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/pages/pagestest"
)

// TestServePrintsAnAddressThatAnswers: "triad serve --port 0" prints the address of a page that a browser can
// open, answers until Ctrl-C, and compares runs only of its own database.
func TestServePrintsAnAddressThatAnswers(t *testing.T) {
	path := t.TempDir() + "/r.db"
	pagestest.AddWrong(t, path)
	read, write := io.Pipe()
	c := console.New(nil, write, io.Discard)
	stop, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	c.Stop = stop
	ended := make(chan error, 1)
	go func() {
		o := &Options{db: path, named: true}
		ended <- serveUntilStopped(context.Background(), c, o)
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, rest, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(rest, path) {
		t.Fatalf("it prints %q", line)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Jar: jar}
	base, _, _ := strings.Cut(address, "/?")
	for _, c := range [][2]string{
		{address, "<h1>Home</h1>"},
		{base + "/diff?a=last~1&b=last", "B is worse than A: 2 became wrong."},
		{base + "/diff?a=last&b=other.db", "names a file: a page compares runs of its own database"},
		{base + "/diff?a=last&b=%2Fetc%2Fpasswd", "names a file"},
		{base + "/runs?since=2h", "12 runs"},
		{base + "/findings", "What triad found"},
	} {
		answer, err := client.Get(c[0])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), c[1]) {
			t.Errorf("%s: %d, %v, lacks %q", c[0], answer.StatusCode, err, c[1])
		}
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}
