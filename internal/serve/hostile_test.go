package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// send writes bytes to a server and returns the status of its answer, 0 if it closed without one.
func send(t *testing.T, address, request string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, request) // the server may close before it has read everything
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

// hostile returns requests of a client that knows the token, each with one thing that no page of ours sends;
// HOST and COOKIE stand for the right ones.
func hostile(host string) map[string]string {
	port := host[strings.LastIndex(host, ":"):]
	all := map[string]string{
		"no host":   "GET / HTTP/1.0\r\nCookie: COOKIE\r\n\r\n",
		"two hosts": "GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\nCookie: COOKIE\r\n\r\n",
		"absolute":  "GET http://evil.example/ HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n",
		"chunked body": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
		"body": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nContent-Length: 3\r\n\r\nabc",
		"large body": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nContent-Length: 1000000000\r\n\r\n" +
			strings.Repeat("a", 1<<16),
		"smuggled": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nContent-Length: 0\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"upgrade": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n" +
			"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"large header": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nX: " + strings.Repeat(
			"a",
			1<<17,
		) + "\r\n\r\n",
		"long address": "GET /runs?op=" + strings.Repeat(
			"a",
			5000,
		) + " HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n",
		"no token":    "GET / HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"wrong token": "GET /?token=AAAAAAAAAAAAAAAAAAAAAAAAAA HTTP/1.1\r\nHost: HOST\r\n\r\n",
		"empty token": "GET /?token= HTTP/1.1\r\nHost: HOST\r\nCookie: triad_" + port[1:] + "=\r\n\r\n",
		"no HTTP":     "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"bad version": "GET / HTTP/9.9\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n",
	}
	addPlain(all, port)
	return all
}

// addPlain adds requests that differ from a valid one in a header, the method or the path.
func addPlain(all map[string]string, port string) {
	plain := func(name, line string, headers ...string) {
		all[name] = line + " HTTP/1.1\r\nCookie: COOKIE\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n"
	}
	for _, h := range []string{
		"evil.example", "evil.example" + port, "127.0.0.1", "127.0.0.1:1", "localhost",
		"localhost.evil.example" + port,
		"0.0.0.0" + port, "127.0.0.2" + port, "[::]" + port, "2130706433" + port, "HOST.", "user@HOST",
	} {
		plain("host "+h, "GET /", "Host: "+h)
	}
	for _, o := range []string{
		"null", "http://evil.example", "https://HOST", "http://HOST.evil.example", "http://localhost:1",
		"file://", "",
		"http://HOST, http://HOST",
	} {
		plain("origin "+o, "GET /runs", "Host: HOST", "Origin: "+o)
	}
	for _, site := range []string{"cross-site", "same-site", "nonsense"} {
		plain("site "+site, "GET /findings", "Host: HOST", "Sec-Fetch-Site: "+site)
	}
	for _, method := range []string{
		"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE",
		"CONNECT", "PROPFIND",
	} {
		plain("method "+method, method+" /", "Host: HOST")
	}
	for _, path := range []string{
		"/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/etc/passwd", "/%252e%252e%252fetc", "/run/..;/x",
		"/run/.git", "//evil.example/", "/run//x", "/run/%00", "/run/a%0d%0aX:y", `/run\..\x`, "/run/a/b",
		"/session/01ARZ3NDEKTSV4RRFFQ69G5FAV/", "/op/a;b", "/op/%3Cscript%3E", "/static/../run", "/runs/%2e",
		"/runs?op=a;impl=b", "/runs?op=%zz", "/runs?op=a&op=b", "/runs?limit=5", "/diff?a=last&c=d",
		"/runs?op=a%00b", "/?x=1", "/runs?impl=" + strings.Repeat("a", 300),
		"/query?sql=select%001", "/query?sql=a&sql=b", "/query?p_a-b=1", "/query?p_=1", "/query?p_a=%0a",
		"/query?sql=" + strings.Repeat("a", 4001), "/query.csv?saved=a%0ab", "/runs?sql=select+1",
		"/runs?p_a=1", "/query.exe?sql=select+1", "/query/x?sql=select+1",
	} {
		plain("path "+path, "GET "+path, "Host: HOST")
	}
}

// TestHostileRequestsAreRefused: every hostile request is refused and shows nothing of the database, and the
// server continues to answer.
func TestHostileRequestsAreRefused(t *testing.T) {
	s, address := serving(t, nothing(t), Options{})
	requests := hostile(address)
	if len(requests) < 60 {
		t.Fatalf("%d requests, want at least 60", len(requests))
	}
	fill := func(text string) string {
		return strings.NewReplacer("HOST", address, "COOKIE", s.cookie+"="+s.token).Replace(text)
	}
	well := fill("GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n")
	for name, request := range requests {
		if status, body := send(t, address, fill(request)); status >= 200 && status < 400 ||
			strings.Contains(body, "<html") || strings.Contains(body, "root:") {
			t.Errorf("%s: %d %.200s", name, status, body)
		}
		if status, _ := send(t, address, well); status != http.StatusOK {
			t.Fatalf("after %s the server answers %d", name, status)
		}
	}
}

// TestSlowHeadersEnd: a header that never ends does not hold a connection.
func TestSlowHeadersEnd(t *testing.T) {
	_, address := serving(t, nothing(t), Options{HeaderTime: 50 * time.Millisecond})
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: ")
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection is still open after a minute: %v", err)
	}
}

// TestReadersThatDoNotRead: clients that do not read do not block pages for others.
func TestReadersThatDoNotRead(t *testing.T) {
	s, address := serving(t, nothing(t), Options{})
	s.http.Handler = s.guarded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 32<<20)) // more than sockets hold
	}))
	request := "GET / HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\nCookie: " + s.cookie + "=" +
		s.token + "\r\n\r\n"
	for range atOnce {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, request)
		if _, err := conn.Read(make([]byte, 16)); err != nil { // its answer has begun
			t.Fatal(err)
		}
	}
	if status, body := send(t, address, request); status != http.StatusOK || len(body) != 32<<20 {
		t.Errorf("status %d, %d bytes: want the page", status, len(body))
	}
}

// TestOnlyLoopbackIsServed: only addresses of this machine are served.
func TestOnlyLoopbackIsServed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", "[::]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue // the machine has no such address
		}
		if _, err := New(nil, listener, Options{}); err == nil {
			t.Errorf("%s is served", address)
		}
		listener.Close()
	}
}

// TestPagesChangeNothing: reading pages does not change the database.
func TestPagesChangeNothing(t *testing.T) {
	path, _ := recorded(t, 1)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, address := serving(t, path, Options{})
	for _, page := range []string{"/", "/runs", "/findings", "/diff?a=last&b=last", "/op/doubled"} {
		request := fmt.Sprintf(
			"GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\n\r\n",
			page,
			address,
			s.cookie,
			s.token,
		)
		if status, body := send(t, address, request); status != http.StatusOK {
			t.Errorf("%s: %d %s", page, status, body)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the database is another, %v", err)
	}
}
