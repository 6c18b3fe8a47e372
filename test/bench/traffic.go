package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/controllers/resources"
	"github.com/etcdsteward/etcd-steward/pkg/etcdutil"
	"github.com/etcdsteward/etcd-steward/pkg/pki"
	"github.com/etcdsteward/etcd-steward/test/e2e/client"
)

// gapRate is how many puts a second tell how long writes stood still.
const gapRate = 100

// traffic is one or more clients that write through a measurement and follow the Pods as a resolver would.
type traffic struct {
	trial   *trial
	writers []*client.Writer
	began   time.Time
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// wrote is the reckoning of all writers together.
type wrote struct {
	acknowledged int
	perSecond    float64
	gap, p99     time.Duration // the worst of any writer
}

// write starts writers and waits until each has written.
func (t *trial) write(ctx context.Context, writers int, perSecond float64) (*traffic, error) {
	config, err := t.clientTLS(ctx)
	if err != nil {
		return nil, err
	}
	background, stop := context.WithCancel(ctx)
	f := &traffic{trial: t, stop: stop}
	for i := range writers {
		w, err := client.Start(background, client.Options{
			Endpoints: t.endpoints(), TLS: config, Prefix: fmt.Sprintf("/bench/%d/%d/", time.Now().UnixNano(), i), PerSecond: perSecond,
		})
		if err != nil {
			return nil, errors.Join(err, f.abandon())
		}
		f.writers = append(f.writers, w)
	}
	f.ended.Go(func() { f.resolve(background) })
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		for _, w := range f.writers {
			if w.Acknowledged() < 20 {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("nothing can be written to %s in %s: %w", t.side, t.namespace, err), f.abandon())
	}
	f.began = time.Now()
	return f, nil
}

// clientTLS is what users connect with; nil for the floor, which has no TLS.
func (t *trial) clientTLS(ctx context.Context) (*tls.Config, error) {
	if t.side == floor {
		return nil, nil
	}
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: t.namespace, Name: resources.ClientSecret(clusterName)}
	if err := t.kube.client.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading the clients' bundle: %w", err)
	}
	pair := pki.Pair{Cert: secret.Data[corev1.TLSCertKey], Key: secret.Data[corev1.TLSPrivateKeyKey]}
	config, err := pki.ClientTLS(secret.Data[resources.KeyCA], pair)
	if err != nil {
		return nil, fmt.Errorf("reading the clients' bundle: %w", err)
	}
	config.ServerName = fmt.Sprintf("%s.%s.svc", clusterName, t.namespace)
	return config, nil
}

func (t *trial) endpoints() []string {
	scheme := "https"
	if t.side == floor {
		scheme = "http"
	}
	var endpoints []string
	for _, pod := range t.watched.members() {
		if pod.Status.PodIP != "" && pod.DeletionTimestamp == nil {
			endpoints = append(endpoints, scheme+"://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(etcdutil.ClientPort)))
		}
	}
	return endpoints
}

// resolve tells the writers where members are now.
func (f *traffic) resolve(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	known := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		endpoints := f.trial.endpoints()
		if now := fmt.Sprint(endpoints); now != known {
			known = now
			for _, w := range f.writers {
				w.SetEndpoints(endpoints)
			}
		}
	}
}

// finish ends the writing and reads everything acknowledged back: a measurement that lost something measured nothing.
func (f *traffic) finish(ctx context.Context) (wrote, error) {
	var sum wrote
	seconds := time.Since(f.began).Seconds()
	for _, w := range f.writers {
		w.Stop()
	}
	f.stop()
	f.ended.Wait()
	var errs []error
	for _, w := range f.writers {
		r, err := w.Finish(ctx)
		sum.acknowledged += r.Acknowledged
		sum.gap, sum.p99 = max(sum.gap, r.LongestGap), max(sum.p99, r.P99)
		if err == nil && len(r.Lost)+r.Failed > 0 {
			err = fmt.Errorf("the client that writes to %s: %s", f.trial.side, r)
		}
		errs = append(errs, err)
	}
	sum.perSecond = float64(sum.acknowledged) / seconds
	return sum, errors.Join(errs...)
}

// abandon ends the writing where something else failed already.
func (f *traffic) abandon() error {
	f.stop()
	f.ended.Wait()
	for _, w := range f.writers {
		w.Abandon()
	}
	return nil
}
