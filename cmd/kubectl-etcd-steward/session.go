package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl signs in by these, too
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// session is a connection to one API server, and the namespace that the person works in.
type session struct {
	client.Client

	namespace string
	logs      func(ctx context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error)
	now       func() time.Time
}

// connect makes a session as kubectl would with these flags.
func connect(flags *genericclioptions.ConfigFlags) (*session, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	clock := &serverClock{}
	config.Wrap(clock.wrap)
	config.UserAgent = "kubectl-etcd_steward/" + version
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true})
	log.SetLogger(logr.Discard())
	objects, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("preparing to ask the API server: %w", err)
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to ask the API server: %w", err)
	}
	logs := func(ctx context.Context, pod client.ObjectKey, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return pods.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, o).Stream(ctx)
	}
	return &session{Client: objects, namespace: namespace, logs: logs, now: clock.now}, nil
}

// newScheme knows the kinds that are read as Go types; a report reads the others as they come.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(coordinationv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// serverClock tells the time by the API server's answers: ages of objects and Leases are wrong by the clock of a laptop
// that is.
type serverClock struct{ ahead atomic.Int64 }

func (c *serverClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.ahead.Store(int64(time.Until(date)))
		}
		return response, nil
	})
}

// roundTrip makes a function one that sends requests.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip sends a request.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
