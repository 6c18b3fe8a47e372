package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memberLogs are what the API server answers, by Pod: each line begins with the time at which the node got it.
var memberLogs = map[string]string{
	"demo-0": `2026-05-04T11:30:00.250000000Z {"level":"info","ts":"2026-05-04T11:30:00.249Z","caller":"etcdserver/raft.go:100","msg":"elected leader","term":7,"local-member-id":"8e9e05c52164694d"}
2026-05-04T11:30:02.000000000Z {"level":"warn","ts":"2026-05-04T11:30:02.000Z","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"212ms","expected-duration":"100ms","request":"header:<ID:1 > put:<key:\"a\" >","peers":["demo-1","demo-2"]}
`,
	"demo-1": `2026-05-04T11:30:00.100000000Z {"level":"info","ts":"2026-05-04T11:30:00.099Z","caller":"embed/etcd.go:120","msg":"ready to serve client requests"}
2026-05-04T11:30:01.000000000Z panic: runtime error: index out of range {
`,
	"demo-2": "",
}

// logging is the fleet, whose members write this.
func logging(t *testing.T, logs map[string]string) *session {
	t.Helper()
	s := fleet(t)
	s.logs = func(_ context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		if o.Container != "etcd" || !o.Timestamps {
			t.Errorf("asked for %+v", o)
		}
		return io.NopCloser(strings.NewReader(logs[pod.Name])), nil
	}
	return s
}

func TestTheLogsOfAllMembersAreOneInWords(t *testing.T) {
	golden(t, "logs.txt", plugin(t, logging(t, memberLogs), "logs", "demo").out)
}

func TestRawLinesAreAsEtcdWroteThem(t *testing.T) {
	got := plugin(t, logging(t, memberLogs), "logs", "demo", "--raw")
	var want []string
	for _, log := range memberLogs {
		for line := range strings.Lines(log) {
			want = append(want, line)
		}
	}
	slices.Sort(want)
	for i, line := range want {
		_, want[i], _ = strings.Cut(line, " ")
	}
	if got.code != 0 || got.out != strings.Join(want, "") {
		t.Errorf("got\n%swant\n%s", got.out, strings.Join(want, ""))
	}
}

func TestEachLineIsOneObject(t *testing.T) {
	got := plugin(t, logging(t, memberLogs), "logs", "demo", "-o", "json")
	const want = `{"time":"2026-05-04T11:30:00.250000Z","member":"demo-0","level":"info","message":"elected leader",` +
		`"fields":{"caller":"etcdserver/raft.go:100","local-member-id":"8e9e05c52164694d","term":7}}`
	if got.code != 0 || strings.Count(got.out, "\n") != 4 || !strings.Contains(got.out, want+"\n") {
		t.Errorf("want %s in\n%s", want, got.out)
	}
}

func TestWhatIsNoEntryOfALogStaysAsItIs(t *testing.T) {
	for _, text := range []string{"", "{", "{}", "{}x", `{"level":"info"}}`, `{"level":"info"`, `["level"]`, `{"level":"info"} {"level":"info"}`, `"level"`, "null",
		"goroutine 1 [running]:", "\tmain.main()", `{"level":"info","msg":}`} {
		l := lineOf("demo-0", "2026-05-04T11:30:00.1Z "+text+"\n")
		if words := l.words(); words != "2026-05-04T11:30:00.100Z demo-0 "+text || l.Level != "" || l.Fields != nil {
			t.Errorf("%q: got %q, %+v", text, words, l)
		}
	}
	if l := lineOf("demo-0", "without a time\n"); l.Message != "without a time" {
		t.Errorf("got %+v", l)
	}
}

func TestLogsAreAskedForAsTheFlagsSay(t *testing.T) {
	for _, c := range []struct {
		args  []string
		since int64
		tail  int64 // -1: all
	}{
		{nil, 0, 100}, {[]string{"--tail", "7"}, 0, 7}, {[]string{"--tail", "-1"}, 0, -1},
		{[]string{"--since", "10m"}, 600, -1}, {[]string{"--since", "10ms", "--tail", "7"}, 1, 7},
	} {
		s := fleet(t)
		s.logs = func(_ context.Context, _ client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			since, tail := int64(0), int64(-1)
			if o.SinceSeconds != nil {
				since = *o.SinceSeconds
			}
			if o.TailLines != nil {
				tail = *o.TailLines
			}
			if since != c.since || tail != c.tail || o.Follow {
				t.Errorf("%v: since %d, tail %d", c.args, since, tail)
			}
			return io.NopCloser(strings.NewReader("")), nil
		}
		if got := plugin(t, s, append([]string{"logs", "demo"}, c.args...)...); got.code != 0 {
			t.Errorf("got %+v", got)
		}
	}
}

// broken is a log that ends in an error.
type broken struct{ io.Reader }

func (b broken) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
	if errors.Is(err, io.EOF) {
		err = errors.New("the node is gone")
	}
	return n, err
}

func TestALogThatCannotBeReadIsNamedAndTheOthersAreShown(t *testing.T) {
	s := logging(t, memberLogs)
	read := s.logs
	s.logs = func(ctx context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		opened, err := read(ctx, pod, o)
		switch pod.Name {
		case "demo-1":
			return io.NopCloser(broken{opened}), err
		case "demo-2":
			return nil, missingRight("get", schema.GroupResource{Resource: "pods/log"})
		}
		return opened, err
	}
	got := plugin(t, s, "logs", "demo")
	for _, want := range []string{"the rest of the log of demo-1 cannot be read: the node is gone",
		"the log of demo-2 cannot be read: you may not get pods/log in namespace prod"} {
		if got.code != exitFailed || !strings.Contains(got.errOut, want) || strings.Count(got.out, "\n") != 4 {
			t.Errorf("want %q: %+v", want, got)
		}
	}
}

// endless is a log without an end, of lines of this length.
type endless struct {
	length, left int
}

func (e *endless) Read(into []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	e.left--
	n := min(len(into), e.length)
	copy(into, bytes.Repeat([]byte("x"), n))
	into[n-1] = '\n'
	return n, nil
}

func TestLogsOfAnySizeTakeLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	streams := make([]*stream, 3)
	for i := range streams {
		streams[i] = newStream(fmt.Sprint(i), io.LimitReader(zeros{}, 16<<20))
	}
	streams = append(streams, newStream("lines", &endless{length: 1 << 10, left: 20_000}))
	lines := 0
	err := merge(t.Context(), streams, 0, func(l line) error {
		if len(l.text) > longestLine {
			t.Errorf("a line has %d bytes", len(l.text))
		}
		if lines++; lines%1000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc)
		}
		return nil
	})
	if err != nil || lines != 20_003 || most > before.HeapAlloc+8<<20 {
		t.Errorf("%d lines, %d bytes more at most: %v", lines, most-before.HeapAlloc, err)
	}
}

// zeros is one line without an end.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) { return len(into), nil }

// writer is the log of a member that runs.
type writer struct {
	*io.PipeReader

	to *io.PipeWriter
}

// follow runs `logs --follow` while members write; what they wrote is in order.
func TestLogsAreFollowedWhileMembersWriteNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		logs := map[string]writer{}
		for _, name := range []string{"demo-0", "demo-1", "demo-2"} {
			from, to := io.Pipe()
			logs[name] = writer{from, to}
		}
		s := fleet(t)
		s.logs = func(_ context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			if !o.Follow {
				t.Error("new lines are not asked for")
			}
			return logs[pod.Name], nil
		}
		begin := time.Now()
		write := func(member string, second int) {
			fmt.Fprintf(logs[member].to, "2026-05-04T11:30:%02dZ line of %s\n", second, member)
		}
		go func() {
			write("demo-1", 2)
			write("demo-0", 1)
			for second := range 50 {
				write("demo-0", second+3)
			}
			time.Sleep(time.Second)
			write("demo-2", 55)
			synctest.Wait()
			write("demo-0", 58)
			time.Sleep(quietFor / 3)
			write("demo-2", 57) // which was quiet, and is waited for again
			time.Sleep(time.Second)
			stop()
			for _, log := range logs {
				log.to.CloseWithError(context.Canceled)
			}
		}()
		var out, errOut bytes.Buffer
		code := run(ctx, []string{"logs", "demo", "--follow"}, program{
			connect: func(*genericclioptions.ConfigFlags) (*session, error) { return s, nil }, out: &out, errOut: &errOut,
		})
		took, printed := time.Since(begin), strings.Split(strings.TrimSpace(out.String()), "\n")
		if code != 0 || len(printed) != 55 || !slices.IsSorted(printed) || !strings.Contains(printed[52], "demo-2") {
			t.Errorf("exit code %d, %s\n%s", code, errOut.String(), out.String())
		}
		if took > 6*time.Second {
			t.Errorf("each line waited for members that write nothing: it took %s", took)
		}
	})
}
