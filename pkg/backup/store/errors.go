package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"
)

// What went wrong, as far as it changes what a user does about it. Test with errors.Is.
var (
	ErrConfig      = errors.New("the store's configuration is wrong")
	ErrOutside     = errors.New("the key is not one below the store's prefix")
	ErrNotFound    = errors.New("the store has no such bucket or object")
	ErrExists      = errors.New("the object exists already")
	ErrDenied      = errors.New("the store refuses the credentials")
	ErrThrottled   = errors.New("the store asks to slow down")
	ErrUnreachable = errors.New("the store cannot be reached")
	ErrRedirected  = errRedirected
	ErrStalled     = errors.New("the store stands still")
	ErrFull        = errors.New("the store is full")
	ErrTooLarge    = errors.New("the object is too large")
	ErrDamaged     = errors.New("the store gives back something else than it was given")
	ErrStore       = errors.New("the store failed")
)

// notFound is an ErrNotFound of which the store says what it is that is missing.
type notFound string

// The two of them: the bucket, and so all objects in it, or one object of a bucket that is there.
const (
	ErrNoBucket notFound = "there is no such bucket"
	errNoObject notFound = "the bucket has no such object"
)

func (n notFound) Error() string { return string(n) }

// Is says that it is an ErrNotFound.
func (notFound) Is(target error) bool { return target == ErrNotFound }

// placed is a kind of error in words that name the bucket.
type placed struct {
	kind error
	says string
}

func (p placed) Error() string { return p.says }

func (p placed) Unwrap() error { return p.kind }

// opener is what a bucket is opened with: what it is called, and what makes it one that opens, as parts of sentences.
type opener struct{ called, helps string }

func openerOf(o Options) opener {
	switch {
	case o.CredentialsDir == "":
		return opener{"the identity that the environment gives", "Let it "}
	case o.CredentialsSecret == "":
		return opener{"the credentials", "Correct them, or let their account "}
	}
	return opener{"the credentials in Secret " + o.CredentialsSecret, "Correct the Secret, or let its account "}
}

// told names the bucket in an error, and what it was to be opened with, and says what a person can do, as a sentence
// without its end, or "". S3 refuses an account that may not list a bucket what is not there as well.
func (b *Bucket) told(err error) (advice string, _ error) {
	var a answer
	switch {
	case errors.Is(err, ErrUnreachable):
		return ". Correct the endpoint in the store of the spec, or let Pods reach it", err
	case b.named == "" || !errors.As(err, &a):
		return "", err
	}
	says := ""
	switch {
	case errors.Is(a.kind, ErrDenied):
		says = b.named + " refuses " + b.opener.called
		advice = ". " + b.opener.helps + "list the bucket, and read and write there"
	case errors.Is(a.kind, ErrNoBucket):
		says, advice = "there is no "+b.named, ". Make the bucket, or correct its name in the store of the spec"
	case errors.Is(a.kind, errNoObject):
		says = b.named + " has no such object"
	case errors.Is(a.kind, ErrNotFound):
		says = b.named + " is not there, or has no such object"
		advice = ". See whether there is such a bucket, and then whether it has this key"
	default:
		return "", err
	}
	a.kind = placed{a.kind, says}
	return advice, a
}

// failed puts what went wrong before the key that it went wrong with: the key is long, and a text may be cut.
func (b *Bucket) failed(err error, key string) error {
	advice, err := b.told(err)
	return fmt.Errorf("%w, object %s%s", err, key, advice)
}

// fileDenied is ErrDenied of a volume, which knows users and no credentials.
type fileDenied struct{}

// Error names the user, and what gives it the right.
func (fileDenied) Error() string {
	return fmt.Sprintf("the volume refuses user %d of group %d: give the group the right to its files (chgrp -R "+
		"%[2]d, chmod -R g+rwX)", os.Geteuid(), os.Getegid())
}

// Is says that it is an ErrDenied.
func (fileDenied) Is(target error) bool { return target == ErrDenied }

// classify puts a sentinel in front of an error of the libraries; other is for those that say nothing known. Errors
// that are ours already, and ends of contexts, pass.
func classify(err, other error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{
		ErrConfig, ErrOutside, ErrNotFound, ErrExists, ErrDenied, ErrThrottled, ErrUnreachable, ErrRedirected,
		ErrStalled, ErrFull,
		ErrTooLarge, ErrDamaged, ErrStore, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	kind := kindOf(err, other)
	err = bare(err)
	says := inShort(err)
	if kind == other && isBadRequest(err) { //nolint:errorlint // it is that very one
		says += ". " + regionHint
	}
	return answer{kind: kind, whole: err, says: says}
}

// bare leaves out what gocloud.dev puts before an error (google/go-cloud:blob/blob.go wrapError): the key, which the
// callers name, and a code, for which the sentinel stands.
func bare(err error) error {
	layers, ok := err.(interface{ Unwrap() []error })
	if ok && strings.HasPrefix(err.Error(), "blob ") {
		if inner := layers.Unwrap(); len(inner) > 0 && inner[0] != nil {
			return inner[0]
		}
	}
	return err
}

// regionHint is what mostly helps where a server only says that a request is bad: the answer to HEAD has no body in
// which it could say why.
const regionHint = "A server that is not Amazon's mostly expects no region: leave it out"

func isBadRequest(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusBadRequest
}

func kindOf(err, other error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrFull
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fileDenied{}
	case errors.Is(err, syscall.EROFS):
		return ErrDenied
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrUnreachable // the connection ended in the middle of an answer
	}
	for _, find := range []func(error) error{kindOfCode, kindOfGocloud} {
		if kind := find(err); kind != nil {
			return kind
		}
	}
	var network net.Error
	var path *fs.PathError // of a file: the errors of the kernel look like those of the network
	if errors.As(err, &network) && !errors.As(err, &path) {
		return ErrUnreachable
	}
	return other
}

// kindOfGocloud is what gocloud.dev makes of an error. Of S3's it is not asked: to it every text with "301" in it, be
// it in a key, in an address or in the ID of a request, is of a bucket that does not exist
// (google/go-cloud:blob/s3blob/s3blob.go ErrorCode).
func kindOfGocloud(err error) error {
	var ofS3 *smithy.OperationError
	if errors.As(err, &ofS3) {
		return nil
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return ErrNotFound
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		return ErrExists
	case gcerrors.PermissionDenied:
		return ErrDenied
	case gcerrors.ResourceExhausted:
		return ErrThrottled
	default:
		return nil
	}
}

// codes are the answers of S3 and of servers like it that gocloud.dev has no word for.
var codes = map[string]error{
	"InvalidAccessKeyId": ErrDenied, "SignatureDoesNotMatch": ErrDenied, "AccessDenied": ErrDenied,
	"Forbidden":          ErrDenied,
	"XAdminUserNotFound": ErrDenied, // versitygw, with the status 404
	"ExpiredToken":       ErrDenied, "InvalidToken": ErrDenied, "TokenRefreshRequired": ErrDenied,
	"AccountProblem":               ErrDenied,
	"AuthorizationHeaderMalformed": ErrConfig, // it names the region that is wrong, and mostly the right one
	"NoSuchBucket":                 ErrNoBucket, "NoSuchKey": errNoObject, "NotFound": ErrNotFound,
	"PreconditionFailed": ErrExists, "ConditionalRequestConflict": ErrExists,
	"SlowDown": ErrThrottled, "Throttling": ErrThrottled, "ThrottlingException": ErrThrottled,
	"TooManyRequests":      ErrThrottled,
	"RequestLimitExceeded": ErrThrottled, "QuotaExceeded": ErrFull, "XMinioStorageFull": ErrFull,
}

// statuses of GCS and of Azure go before what gocloud.dev makes of them: to it what GCS forbids is not found, which is
// taken for removed here, and of most that Azure forbids it knows nothing.
var statuses = map[int]error{
	http.StatusUnauthorized: ErrDenied, http.StatusForbidden: ErrDenied, http.StatusNotFound: ErrNotFound,
	http.StatusPreconditionFailed: ErrExists, http.StatusTooManyRequests: ErrThrottled,
	http.StatusServiceUnavailable: ErrThrottled,
}

// badChecksum is how the client of GCS says it, and nothing but the text tells
// (googleapis/google-cloud-go:storage/http_client.go).
const badChecksum = "storage: bad CRC on read"

func kindOfStatus(err error) error {
	var (
		google *googleapi.Error
		azure  *azcore.ResponseError
	)
	switch {
	case errors.As(err, &google):
		return statuses[google.Code]
	case errors.As(err, &azure) && azure.ErrorCode == "ContainerNotFound":
		return ErrNoBucket
	case errors.As(err, &azure):
		return statuses[azure.StatusCode]
	}
	if strings.Contains(err.Error(), badChecksum) {
		return ErrDamaged
	}
	return nil
}

func kindOfCode(err error) error {
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 3 &&
		answer.HTTPStatusCode() != http.StatusNotModified {
		return ErrRedirected // of a body that cannot be sent twice; http.Client leaves these to us
	}
	if kind := kindOfStatus(err); kind != nil {
		return kind
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if kind := codes[api.ErrorCode()]; kind != nil {
			return kind
		}
	}
	// Some clients keep only the text of a cause.
	for _, kind := range []error{ErrRedirected, ErrStalled} {
		if errors.Is(err, kind) || strings.Contains(err.Error(), kind.Error()) {
			return kind
		}
	}
	return nil
}
