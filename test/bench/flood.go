package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
	"github.com/etcdsteward/etcd-steward/test/e2e/world"
)

// Who may create objects can have the API server ask the webhook in a loop. Twenty settled clusters are looked at for a
// while, then for as long again while the replica that leads is asked 200 times a second. What an average pass over a
// cluster takes then, is held against what it took before.
const (
	floodRate    = 200 // requests a second
	floodLasts   = time.Minute
	floodAtOnce  = 64                     // requests that wait for their answer
	floodTouches = 500 * time.Millisecond // between two changes that each call for a pass over one cluster
)

var floodedPass = figure{Name: "a pass over 1 of 20, webhook asked 200 times/s", Unit: unitMilliseconds, Times: 1.1}

func measureFlood(ctx context.Context, b *bench) error {
	undo, err := b.kube.serveWebhook(ctx)
	if err != nil {
		return err
	}
	err = b.takeTurn(ctx, ours, oneOnVolume, func(ctx context.Context, t *trial) error {
		if _, err := t.createFleet(ctx, fleetSize, 0); err != nil {
			return err
		}
		gate, err := t.findGate(ctx)
		if err != nil {
			return err
		}
		token, err := t.scraperToken(ctx)
		if err != nil {
			return err
		}
		return t.measureBothSides(ctx, b.runs, gate, token)
	})
	return errors.Join(err, undo(context.WithoutCancel(ctx)))
}

// serveWebhook installs the webhook, and says how to take it away again.
func (k *kube) serveWebhook(ctx context.Context) (undo func(context.Context) error, err error) {
	deployment := "deployment/" + world.OperatorName
	steps := func(ctx context.Context, steps ...[]string) error {
		for _, step := range steps {
			if out, err := k.world.Kubectl(ctx, step...); err != nil {
				return fmt.Errorf("kubectl %v: %w: %s", step, err, out)
			}
		}
		return nil
	}
	rolled := []string{"-n", world.OperatorNamespace, "rollout", "status", deployment, "--timeout=120s"}
	undo = func(ctx context.Context) error {
		return steps(ctx, []string{"delete", "validatingwebhookconfiguration", "etcd-steward"},
			[]string{"apply", "-k", "config/default"}, rolled)
	}
	if err = steps(ctx, []string{"apply", "-k", "test/bench/webhook"}, rolled); err != nil {
		return nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
	}
	return undo, nil
}

func (t *trial) measureBothSides(ctx context.Context, runs int, gate *gate, token string) error {
	for range runs {
		for _, s := range sides {
			if err := t.measurePasses(ctx, s, gate, token); err != nil {
				return err
			}
		}
	}
	return nil
}

// measurePasses takes the time of an average pass: on our side while the webhook is asked.
func (t *trial) measurePasses(ctx context.Context, s side, gate *gate, token string) error {
	if err := t.untilIdle(ctx); err != nil {
		return err
	}
	before, err := t.kube.passes(ctx, token)
	if err != nil {
		return err
	}
	ctxOfHalf, done := context.WithTimeout(ctx, floodLasts)
	defer done()
	touched := make(chan error, 1)
	go func() { touched <- t.touchAll(ctxOfHalf) }()
	var note string
	if s == ours {
		note, err = gate.flood(ctxOfHalf)
	}
	if err := errors.Join(err, <-touched); err != nil {
		return err
	}
	after, err := t.kube.passes(ctx, token)
	if err != nil {
		return err
	}
	count := after.count - before.count
	if count < uint64(floodLasts/floodTouches)/2 {
		return fmt.Errorf("only %d passes were made in %s", count, floodLasts)
	}
	note = fmt.Sprintf("%d passes  %s", count, note)
	t.add(t.figure(floodedPass), s, sample{Value: (after.sum - before.sum) / float64(count) * 1000, Note: note})
	return nil
}

// touchAll changes one cluster after the other by an annotation, which calls for a pass, until the context ends.
func (t *trial) touchAll(ctx context.Context) error {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(floodTouches):
		}
		c := &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace,
			Name: fmt.Sprintf("%s-%02d", clusterName, i%fleetSize)}}
		touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"bench.etcdsteward.dev/touched":"%d"}}}`, i)
		err := t.kube.client.Patch(ctx, c, client.RawPatch(types.MergePatchType, touch))
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("touching %s: %w", c.Name, err)
		}
	}
}

// passTime is what all passes over clusters took together, in seconds, and how many there were.
type passTime struct {
	sum   float64
	count uint64
}

// passes reads what the operator that leads says of its passes.
func (k *kube) passes(ctx context.Context, token string) (passTime, error) {
	status, families, err := k.world.Scrape(ctx, token)
	if err != nil {
		return passTime{}, err
	}
	for _, m := range families["controller_runtime_reconcile_time_seconds"].GetMetric() {
		for _, pair := range m.GetLabel() {
			if pair.GetName() == "controller" && pair.GetValue() == "etcdcluster" {
				return passTime{m.GetHistogram().GetSampleSum(), m.GetHistogram().GetSampleCount()}, nil
			}
		}
	}
	return passTime{}, fmt.Errorf("the operator does not say how long its passes take (HTTP %d)", status)
}

// scraperToken is of an account that may read metrics for as long as the trial's namespace is there.
func (t *trial) scraperToken(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{}
	if err := t.kube.client.Get(ctx, client.ObjectKey{Name: t.namespace}, namespace); err != nil {
		return "", fmt.Errorf("reading the namespace of the trial: %w", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "scraper"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: t.namespace + "-scraper", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Namespace", Name: namespace.Name, UID: namespace.UID}}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: world.MetricsRole},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
	if err := errors.Join(t.kube.client.Create(ctx, account), t.kube.client.Create(ctx, binding)); err != nil {
		return "", fmt.Errorf("letting an account read metrics: %w", err)
	}
	token := &authenticationv1.TokenRequest{}
	if err := t.kube.client.SubResource("token").Create(ctx, account, token); err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	return token.Status.Token, nil
}

// gate is the webhook for clusters of the replica that leads.
type gate struct {
	url    string
	body   []byte // a review of a new cluster
	client *http.Client
}

// findGate waits until the webhook answers.
func (t *trial) findGate(ctx context.Context) (*gate, error) {
	review, err := t.review()
	if err != nil {
		return nil, err
	}
	var g *gate
	err = wait.PollUntilContextTimeout(ctx, again, patience, true, func(ctx context.Context) (bool, error) {
		leader, err := t.kube.world.OperatorLeader(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // the next one is being elected
		}
		configuration := &registrationv1.ValidatingWebhookConfiguration{}
		if err := t.kube.client.Get(ctx, client.ObjectKey{Name: "etcd-steward"}, configuration); err != nil {
			return false, err
		}
		for _, hook := range configuration.Webhooks {
			if hook.Rules[0].Resources[0] == "etcdclusters" && hook.ClientConfig.Service.Path != nil {
				g = newGate(net.JoinHostPort(leader.Status.PodIP, "9443")+*hook.ClientConfig.Service.Path,
					hook.ClientConfig.CABundle, review)
			}
		}
		if g == nil {
			return false, nil
		}
		_, err = g.ask(ctx)
		return err == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the webhook to answer: %w", err)
	}
	return g, nil
}

func newGate(address string, ca, body []byte) *gate {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	trust := &tls.Config{RootCAs: roots, ServerName: "etcd-steward-webhook." + world.OperatorNamespace + ".svc",
		MinVersion: tls.VersionTLS12}
	return &gate{url: "https://" + address, body: body, client: &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: trust, MaxIdleConnsPerHost: floodAtOnce}}}
}

// review is what an API server asks about a cluster that an administrator would create.
func (t *trial) review() ([]byte, error) {
	like := t.shape
	like.name = "asked"
	object := manifest(like)
	object.APIVersion, object.Kind = v1alpha1.GroupVersion.String(), "EtcdCluster"
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("writing an EtcdCluster: %w", err)
	}
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "bench", Namespace: t.namespace, Name: like.name, Operation: admissionv1.Create,
			Kind:     metav1.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: object.Kind},
			Resource: metav1.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: "etcdclusters"},
			UserInfo: authenticationv1.UserInfo{Username: "bench", Groups: []string{"system:masters", "system:authenticated"}},
			Object:   runtime.RawExtension{Raw: raw},
		},
	}
	return json.Marshal(review)
}

// ask asks once, and reports whether the object was looked at: what is passed over comes with a warning.
func (g *gate) ask(ctx context.Context) (isLookedAt bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, bytes.NewReader(g.body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := g.client.Do(request)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return false, fmt.Errorf("reading the answer (%s): %w", answer.Status, err)
	}
	if !bytes.Contains(text, []byte(`"allowed":true`)) { // decoding it would cost as much as what is measured
		return false, fmt.Errorf("the webhook refused: %s %s", answer.Status, text)
	}
	return !bytes.Contains(text, []byte(`"warnings":`)), nil
}

// flood asks as often as it says, until the context ends. It fails where the webhook cannot be asked that often.
func (g *gate) flood(ctx context.Context) (note string, err error) {
	var lookedAt, passedOver, failed atomic.Int64
	began, slots := time.Now(), make(chan struct{}, floodAtOnce)
	var asking sync.WaitGroup
	for ticks := time.NewTicker(time.Second / floodRate); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
			ticks.Stop()
			continue
		case <-ticks.C:
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			switch isLookedAt, err := g.ask(context.WithoutCancel(ctx)); {
			case err != nil:
				failed.Add(1)
			case isLookedAt:
				lookedAt.Add(1)
			default:
				passedOver.Add(1)
			}
		})
	}
	asking.Wait()
	rate := float64(lookedAt.Load()+passedOver.Load()) / time.Since(began).Seconds()
	note = fmt.Sprintf("asked %.0f times/s: %d looked at, %d passed over", rate, lookedAt.Load(), passedOver.Load())
	if rate < 0.95*floodRate || failed.Load() > 0 {
		return note, fmt.Errorf("the webhook is not flooded: %s, %d failed", note, failed.Load())
	}
	return note, nil
}
