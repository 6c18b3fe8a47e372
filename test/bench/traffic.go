package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

const (
	// gapRate is how many puts a second tell how long writes stood still.
	gapRate = 100
	// clientRate is how many puts a second each makes where there are many.
	clientRate = 20
	// writingWithin is how long a client may take to begin on a healthy cluster.
	writingWithin = 30 * time.Second
)

// traffic is one or more clients that write through a measurement.
type traffic struct {
	trial   *trial
	writers []*client.Writer
	began   time.Time
	stop    context.CancelFunc
}

// wrote is the reckoning of all writers together.
type wrote struct {
	acknowledged int
	failed       int // not acknowledged 5 s after the first attempt
	perSecond    float64
	gap, p99     time.Duration   // the worst of any writer
	gaps         []time.Duration // the longest of each writer
	notes        []string        // how many puts of each writer failed, and what its attempts were told
}

// route is how a client reaches the cluster.
type route struct {
	name      string
	endpoints []string
	connect   client.Connect
	settings  *client.Settings // nil for those of a client that waits for nothing long
}

// write starts writers that know every member, and waits until each has written.
func (t *trial) write(ctx context.Context, writers int, perSecond float64) (*traffic, error) {
	return t.writeBy(ctx, slices.Repeat([]route{t.everyMember()}, writers), perSecond)
}

// writeBy starts one writer by each route, and waits until each has written.
func (t *trial) writeBy(ctx context.Context, routes []route, perSecond float64) (*traffic, error) {
	background, stop := context.WithCancel(ctx)
	config, err := t.writersTLS(background)
	if err != nil {
		stop()
		return nil, err
	}
	f := &traffic{trial: t, stop: stop}
	for i, by := range routes {
		w, err := client.Start(background, client.Options{
			Endpoints: by.endpoints, TLS: config, Connect: by.connect, PerSecond: perSecond, Settings: by.settings,
			Prefix: fmt.Sprintf("/bench/%d/%d/", time.Now().UnixNano(), i),
		})
		if err != nil {
			f.abandon()
			return nil, err
		}
		f.writers = append(f.writers, w)
	}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, writingWithin, true,
		func(context.Context) (bool, error) {
			for _, w := range f.writers {
				if w.Acknowledged() < 20 {
					return false, nil
				}
			}
			return true, nil
		})
	if err != nil {
		f.abandon()
		return nil, fmt.Errorf("nothing can be written to %s in %s: %w: %s", t.side, t.namespace, err,
			f.writers[0].Now())
	}
	f.began = time.Now()
	return f, nil
}

// clientTLS is what users connect with; nil without TLS.
func (t *trial) clientTLS(ctx context.Context) (*tls.Config, error) {
	if t.plain {
		return nil, nil
	}
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: t.namespace, Name: resources.ClientSecret(t.name)}
	if err := t.kube.client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the clients' bundle: %w", err)
	}
	pair := pki.Pair{Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	return pki.ClientTLS(secret.Data[resources.KeyCA], pair)
}

// readingWithin is how long a client waits for the Secret that it reads for a handshake.
const readingWithin = 10 * time.Second

// writersTLS is what the clients that write connect with.
func (t *trial) writersTLS(ctx context.Context) (*tls.Config, error) {
	if !t.follows {
		return t.clientTLS(ctx)
	}
	return client.Following(func() (*tls.Config, error) {
		ctx, cancel := context.WithTimeout(ctx, readingWithin)
		defer cancel()
		return t.clientTLS(ctx)
	}), nil
}

// scheme is that of the URLs of peers and clients.
func (s shape) scheme() string {
	if s.plain {
		return etcdutil.SchemeHTTP
	}
	return etcdutil.SchemeHTTPS
}

func (t *trial) everyMember() route {
	return route{name: "all endpoints", endpoints: t.endpoints(), connect: t.connect}
}

// endpoints are the members' client URLs, by the names in their certificates.
func (t *trial) endpoints() []string {
	endpoints := make([]string, t.size+t.successors)
	for i := range endpoints {
		endpoints[i] = etcdutil.ClientURL(t.scheme(), etcdutil.MemberName(t.name, i), t.name, t.namespace)
	}
	return endpoints
}

// connect is the DNS of a client that runs beside the cluster's network and not in it: where the Pod of that name is
// now.
func (t *trial) connect(ctx context.Context, address string) (net.Conn, error) {
	name, _, _ := strings.Cut(address, ".")
	pod, err := t.pod(name)
	if err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp",
		net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.ClientPort)))
}

// finish ends the writing and reads everything acknowledged back: a measurement that lost something measured nothing.
func (f *traffic) finish(ctx context.Context) (wrote, error) {
	var sum wrote
	ended := time.Now()
	seconds := ended.Sub(f.began).Seconds()
	for _, w := range f.writers {
		w.Stop()
	}
	f.stop()
	var errs []error
	for _, w := range f.writers {
		r, err := w.Finish(ctx)
		sum.acknowledged, sum.failed = sum.acknowledged+r.Acknowledged, sum.failed+r.Failed
		gap := w.LongestGap(f.began, ended)
		sum.gaps, sum.notes = append(sum.gaps, gap), append(sum.notes, noteOf(r))
		sum.gap, sum.p99 = max(sum.gap, gap), max(sum.p99, r.P99)
		if err == nil && len(r.Lost) > 0 {
			err = fmt.Errorf("the client that writes to %s: %s", f.trial.side, r)
		}
		errs = append(errs, err)
	}
	sum.perSecond = float64(sum.acknowledged) / seconds
	return sum, errors.Join(errs...)
}

// gapBetween is the longest time in which any writer had nothing acknowledged.
func (f *traffic) gapBetween(from, to time.Time) time.Duration {
	gap := time.Duration(0)
	for _, w := range f.writers {
		gap = max(gap, w.LongestGap(from, to))
	}
	return gap
}

// noteOf tells the causes of a gap apart: a put that was dropped while the leader handed over ends by its deadline, a
// member that is gone refuses the connection.
func noteOf(r client.Report) string {
	note := []string{fmt.Sprintf("%d failed", r.Failed)}
	for _, problem := range slices.Sorted(maps.Keys(r.Problems)) {
		note = append(note, fmt.Sprintf("%d × %s", r.Problems[problem], problem))
	}
	return strings.Join(note, "; ")
}

// complaint is an error for a measurement in which writing should have gone on.
func (w wrote) complaint() error {
	if w.failed > 0 {
		return fmt.Errorf("%d puts were not acknowledged in time, of %d", w.failed, w.acknowledged+w.failed)
	}
	return nil
}

// abandon ends the writing where something else failed already.
func (f *traffic) abandon() {
	f.stop()
	for _, w := range f.writers {
		w.Abandon()
	}
}
