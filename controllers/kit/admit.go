package kit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// admitPatience bounds what is read for one answer. The API server waits for timeoutSeconds of config/webhook, which is
// longer: then it hears that the object was not looked at, and does not have to guess.
const admitPatience = 3 * time.Second

// Said is what is answered of an object before it is stored: why it is refused, and what is worth knowing where it is
// not.
type Said struct {
	Refusals field.ErrorList
	Warnings []string
}

// Warn adds a warning, unless it is empty.
func (s *Said) Warn(warning string) {
	if warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
}

// NewRefusals are those of an object that were not there before it was changed: what is stored must stay possible to
// change, also where a newer release would refuse it.
func NewRefusals(before, now field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(slices.Clone(now), func(err *field.Error) bool {
		return slices.ContainsFunc(before, func(old *field.Error) bool {
			return old.Field == err.Field && old.Detail == err.Detail
		})
	})
}

// Admit says what passes would say of an object once it is stored. Before is nil for a new one. It changes nothing.
type Admit[P client.Object] func(ctx context.Context, mayGet MayGet, before, now P) (Said, error)

// ServeAdmission answers the webhook for one kind of object, on each replica; on none where the install has no webhook.
func ServeAdmission[T any, P interface {
	*T
	client.Object
}](mgr ctrl.Manager, install Install, admit Admit[P]) error {
	if install.Webhook == nil {
		return nil
	}
	kind, err := apiutil.GVKForObject(P(new(T)), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("preparing the webhook for a %T: %w", P(nil), err)
	}
	a := admits[T, P]{decoder: admission.NewDecoder(mgr.GetScheme()), kind: kind.GroupKind(), watches: install.Watches,
		webhook: install.Webhook, admit: admit}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	mgr.GetWebhookServer().Register(WebhookPath(resource.Resource), passesOver[T, P]{a, &admission.Webhook{Handler: a}})
	return nil
}

// WebhookPath is where the webhook for a resource is served.
func WebhookPath(resource string) string { return "/validate/" + resource }

// admits hands requests to a wing. A request that it cannot answer is accepted: passes say the same later.
type admits[T any, P interface {
	*T
	client.Object
}] struct {
	decoder admission.Decoder
	kind    schema.GroupKind
	watches []string // namespaces; empty for all
	webhook *Webhook
	admit   Admit[P]
}

// Handle answers one request.
func (a admits[T, P]) Handle(ctx context.Context, request admission.Request) (response admission.Response) {
	if !a.looksAfter(request.Namespace) {
		return admission.Allowed("") // another install does, or none
	}
	ctx, cancel := context.WithTimeout(ctx, admitPatience)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			response = a.unseen(ctx, request, fmt.Errorf("panic: %v", cause))
		}
	}()
	if !a.webhook.begin() { // most of a flood does not get here: passesOver
		return a.passedOver()
	}
	defer a.webhook.end()
	before, now, err := a.read(request)
	if err != nil {
		return a.unseen(ctx, request, err)
	}
	if now.GetDeletionTimestamp() != nil || before != nil && hasOneSpec(before, now) {
		return admission.Allowed("") // the spec stays as it is
	}
	said, err := a.admit(ctx, a.webhook.mayGet(request.UserInfo, request.Namespace), before, now)
	if err != nil {
		return a.unseen(ctx, request, err).WithWarnings(said.Warnings...)
	}
	if len(said.Refusals) == 0 {
		return admission.Allowed("").WithWarnings(said.Warnings...)
	}
	status := apierrors.NewInvalid(a.kind, now.GetName(), said.Refusals).Status()
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}.
		WithWarnings(said.Warnings...)
}

func (a admits[T, P]) looksAfter(namespace string) bool {
	return len(a.watches) == 0 || slices.Contains(a.watches, namespace)
}

// hasOneSpec reports what keeps its spec. A Scale has no generation, and is asked about where its size is new.
func hasOneSpec(before, now client.Object) bool {
	return now.GetGeneration() > 0 && now.GetGeneration() == before.GetGeneration()
}

// read decodes the object as it would be stored, and as it is stored now; that is nil for a new object. What it names
// is looked for where the user is asked about.
func (a admits[T, P]) read(request admission.Request) (before, now P, err error) {
	now = P(new(T))
	err = a.decoder.DecodeRaw(request.Object, now)
	now.SetNamespace(request.Namespace)
	if err != nil || request.Operation == admissionv1.Create {
		return nil, now, err
	}
	before = P(new(T))
	return before, now, a.decoder.DecodeRaw(request.OldObject, before)
}

// unseen accepts what could not be looked at, and says so.
func (a admits[T, P]) unseen(ctx context.Context, request admission.Request, err error) admission.Response {
	log.FromContext(ctx).Error(err, "webhook", "kind", a.kind.Kind, "namespace", request.Namespace, "name",
		request.Name)
	return a.accepted("could not look at")
}

func (a admits[T, P]) passedOver() admission.Response {
	return a.accepted("is asked about more objects than it can look at, and did not look at")
}

// accepted says that the object was not looked at, and why.
func (a admits[T, P]) accepted(why string) admission.Response {
	return admission.Allowed("").WithWarnings(fmt.Sprintf("The operator %s what this %s relies on, and accepts it as "+
		"it is. Its status will say what is wrong, if anything is.", why, a.kind.Kind))
}

// How much one replica answers at most. Who may create an object can ask in a loop (`--dry-run=server`), and each
// answer costs a dozen reads. Requests to the API server wait for no limit on this side (QPS is -1 in
// controller-runtime:pkg/client/config), so that passes wait for no answer. What they share is the account's place in
// the API server's priority and fairness, of which few answers at once take little.
const (
	admitsASecond  = 1
	admitsInABurst = 60 // a directory that a tool applies
	admitsAtOnce   = 8
)

// Webhook is what answers about all kinds have in common.
type Webhook struct {
	reviews Reviews
	rate    *rate.Limiter
	busy    chan struct{}
	now     func() time.Time
}

// Reviews says what a user may do, as the API server does.
type Reviews interface {
	Create(context.Context, *authorizationv1.SubjectAccessReview, metav1.CreateOptions) (
		*authorizationv1.SubjectAccessReview, error)
}

// NewWebhook makes one for an install that the API server asks about objects.
func NewWebhook(reviews Reviews) *Webhook {
	return &Webhook{reviews: reviews, rate: rate.NewLimiter(admitsASecond, admitsInABurst),
		busy: make(chan struct{}, admitsAtOnce), now: time.Now}
}

// begin reports whether one more answer is within the bound. It never waits. Where it is, end has to follow.
func (w *Webhook) begin() bool {
	select {
	case w.busy <- struct{}{}:
	default:
		return false
	}
	if !w.rate.AllowN(w.now(), 1) {
		w.end()
		return false
	}
	return true
}

// isFull reports that begin would say no. It takes nothing.
func (w *Webhook) isFull() bool { return len(w.busy) == cap(w.busy) || w.rate.TokensAt(w.now()) < 1 }

func (w *Webhook) end() { <-w.busy }

// MayGet reports whether the user who writes an object may get all objects of these resources in its namespace. A user
// is not told of what the user may not get.
type MayGet func(ctx context.Context, resources ...corev1.ResourceName) (bool, error)

// mayGet asks about a user. The review that names the user comes from the API server, or nothing is answered.
func (w *Webhook) mayGet(user authenticationv1.UserInfo, namespace string) MayGet {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	return func(ctx context.Context, resources ...corev1.ResourceName) (bool, error) {
		for _, resource := range resources {
			review, err := w.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
					ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get",
						Version: corev1.SchemeGroupVersion.Version, Resource: string(resource)},
				}}, metav1.CreateOptions{})
			if err != nil {
				return false, fmt.Errorf("asking whether %s may get %s in the namespace %s: %w", user.Username,
					resource, namespace, err)
			}
			if !review.Status.Allowed {
				return false, nil
			}
		}
		return true, nil
	}
}

// passesOver answers a request that is over the bound without a look at its objects: to decode them costs more than all
// else. What it does not know the shape of it hands on, and what is over the bound by then gets the same answer there.
type passesOver[T any, P interface {
	*T
	client.Object
}] struct {
	admits admits[T, P]
	next   http.Handler
}

// headSize holds all that the API server writes before the user and the objects.
const headSize = 4 << 10

func (p passesOver[T, P]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.admits.webhook.isFull() {
		p.next.ServeHTTP(w, r)
		return
	}
	body := bufio.NewReaderSize(r.Body, headSize)
	head, _ := body.Peek(headSize) // an error is met again by who reads on
	if request, ok := readHead(head); ok && p.admits.looksAfter(request.Namespace) {
		p.answer(w, request)
		return
	}
	r.Body = io.NopCloser(body) // the server closes its own
	p.next.ServeHTTP(w, r)
}

func (p passesOver[T, P]) answer(w http.ResponseWriter, request admission.Request) {
	response := p.admits.passedOver()
	err := errors.Join(response.Complete(request), json.NewEncoder(w).Encode(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: admissionv1.SchemeGroupVersion.String()},
		Response: &response.AdmissionResponse}))
	if err != nil { // the API server is gone
		log.Log.Error(err, "webhook", "kind", p.admits.kind.Kind, "namespace", request.Namespace)
	}
}

// readHead reads what an answer needs from the first bytes of a review. The API server writes them in the order of the
// fields (kubernetes/kubernetes:staging/src/k8s.io/api/admission/v1/types.go).
func readHead(head []byte) (request admission.Request, ok bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	var version string
	ok = enter(d) && seek(d, "apiVersion", &version) && version == admissionv1.SchemeGroupVersion.String() &&
		seek(d, "request", nil) && enter(d) && seek(d, "uid", &request.UID) && request.UID != "" &&
		seek(d, "namespace", &request.Namespace)
	return request, ok
}

func enter(d *json.Decoder) bool {
	token, err := d.Token()
	return err == nil && token == json.Delim('{')
}

// seek reads on to a key of the object that it stands in, and the key's value unless into is nil.
func seek(d *json.Decoder, key string, into any) bool {
	for d.More() {
		name, err := d.Token()
		if err == nil && name == key {
			return into == nil || d.Decode(into) == nil
		}
		var skipped json.RawMessage
		if err != nil || d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}
