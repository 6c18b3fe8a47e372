package store

import (
	"context"
	"crypto/md5" //nolint:gosec // S3 asks for it
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

// defaultRegion is what requests are signed for where neither the user nor the environment names a region: other
// servers than AWS take any.
const defaultRegion = "us-east-1"

// requestAttempts is how often one request is tried: throttling is answered with waiting.
const (
	requestAttempts = 5
	maxBackoff      = 5 * time.Second
)

// credentialLife is how long credentials are used before their files are read again.
const credentialLife = time.Minute

func openS3(ctx context.Context, c *S3, o Options) (*blob.Bucket, error) {
	httpClient, err := newHTTPClient(o)
	if err != nil {
		return nil, err
	}
	loading := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithRetryer(newRetryer),
		awsconfig.WithRequestChecksumCalculation(aws.RequestChecksumCalculationWhenRequired),
		awsconfig.WithResponseChecksumValidation(aws.ResponseChecksumValidationWhenRequired),
		awsconfig.WithDefaultRegion(defaultRegion),
	}
	if c.Region != "" {
		loading = append(loading, awsconfig.WithRegion(c.Region))
	}
	if o.CredentialsDir != "" {
		loading = append(loading, awsconfig.WithCredentialsProvider(aws.NewCredentialsCache(s3Files(o.CredentialsDir))))
	}
	config, err := awsconfig.LoadDefaultConfig(ctx, loading...)
	if err != nil {
		return nil, fmt.Errorf("prepare a client of S3: %w", err)
	}
	client := s3.NewFromConfig(config, func(options *s3.Options) {
		options.HTTPClient = httpClient // of the store alone: who gives out identities has another certificate
		options.UsePathStyle = c.ForcePathStyle
		options.APIOptions = append(options.APIOptions, sumByMD5)
		if c.Endpoint != "" {
			options.BaseEndpoint = aws.String(c.Endpoint)
		}
	})
	return s3blob.OpenBucket(ctx, client, c.Bucket, &s3blob.Options{
		EncryptionType:             types.ServerSideEncryption(c.ServerSideEncryption),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
}

// newRetryer tries again what may pass, and at once gives up what will not: a redirect and a certificate.
func newRetryer() aws.Retryer {
	return retry.NewStandard(func(options *retry.StandardOptions) {
		options.MaxAttempts = requestAttempts
		options.MaxBackoff = maxBackoff
		options.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(isFinal)},
			options.Retryables...)
	})
}

func isFinal(err error) aws.Ternary {
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, errRedirected) || errors.Is(err, ErrStalled) || errors.As(err, &certificate) {
		return aws.FalseTernary
	}
	return aws.UnknownTernary
}

// s3Files reads the credentials from a mounted Secret, anew whenever credentialLife has passed.
type s3Files string

func (dir s3Files) Retrieve(context.Context) (aws.Credentials, error) {
	id, err := readCredential(string(dir), fileAccessKeyID)
	if err != nil {
		return aws.Credentials{}, err
	}
	secret, err := readCredential(string(dir), fileSecretAccessKey)
	if err != nil {
		return aws.Credentials{}, err
	}
	token, err := readOptional(string(dir), fileSessionToken)
	if err != nil {
		return aws.Credentials{}, err
	}
	return aws.Credentials{
		AccessKeyID: id, SecretAccessKey: secret, SessionToken: token,
		Source: "mounted Secret", CanExpire: true, Expires: time.Now().Add(credentialLife),
	}, nil
}

// sumByMD5 sends the MD5 of what is uploaded. It drops the CRC32 that the transfer manager asks for, also when told not
// to (aws/aws-sdk-go-v2:feature/s3/transfermanager/options.go resolveChecksumAlgorithm): Ceph and other
// servers refuse the trailer that it is sent in. A bucket that locks its objects by default refuses what has neither
// (docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html). What proves an upload is reading it back.
func sumByMD5(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SumByMD5",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
			switch request := in.Parameters.(type) {
			case *s3.PutObjectInput:
				request.ChecksumAlgorithm = ""
				request.ContentMD5, err = md5Of(request.Body)
			case *s3.CreateMultipartUploadInput:
				request.ChecksumAlgorithm = ""
			case *s3.UploadPartInput:
				request.ChecksumAlgorithm = ""
				request.ContentMD5, err = md5Of(request.Body)
			}
			if err != nil {
				return out, metadata, err
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

// md5Of is the sum of what is left of a body, which can be read again afterwards; nil of one that cannot.
func md5Of(body io.Reader) (*string, error) {
	again, ok := body.(io.ReadSeeker)
	if !ok {
		return nil, nil
	}
	start, err := again.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("sum up what is uploaded: %w", err)
	}
	sum := md5.New() //nolint:gosec // S3 asks for it; nothing is proven by it
	if _, err := io.Copy(sum, again); err != nil {
		return nil, fmt.Errorf("sum up what is uploaded: %w", err)
	}
	if _, err := again.Seek(start, io.SeekStart); err != nil {
		return nil, fmt.Errorf("sum up what is uploaded: %w", err)
	}
	return aws.String(base64.StdEncoding.EncodeToString(sum.Sum(nil))), nil
}

// startsAt refuses an answer of S3 that begins elsewhere than where it was asked to. Some servers have no ranges and
// send all of an object again; the clients of the other stores find that out.
func startsAt(as func(any) bool, offset int64) error {
	var answer s3.GetObjectOutput
	if offset == 0 || !as(&answer) {
		return nil
	}
	if got := aws.ToString(answer.ContentRange); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", offset)) {
		return fmt.Errorf("%w: asked for what follows byte %d, it answers with the range %q", ErrStore, offset, got)
	}
	return nil
}

// abortGrace is for telling the store to forget the parts of an upload that was given up.
const abortGrace = 5 * time.Second

// tameS3 replaces the transfer manager that gocloud made: it also writes where the server knows no conditions. The
// parts of an aborted upload are removed although its context has ended, and the first buffer is no larger than the
// others.
func (b *Bucket) tameS3(key string, as func(any) bool) {
	var manager *transfermanager.Client
	var client *s3.Client
	if !as(&manager) || !b.blob.As(&client) {
		return
	}
	into := creator{Client: client, bucket: b, key: key}
	*manager = *transfermanager.New(into, func(options *transfermanager.Options) {
		options.PartSizeBytes = partSize
		options.MultipartUploadThreshold = partSize
		options.Concurrency = uploadConcurrency
		options.FailTimeout = abortGrace
	})
}

// creator is a client that makes one object, also where the server does not know If-None-Match: Alibaba's OSS, for one,
// answers 501 (tobi/walgit#67). Then it looks once more that nothing is there, and writes without the header. Parts
// that were uploaded stay uploaded: only the request that ends them is repeated.
type creator struct {
	*s3.Client
	bucket *Bucket
	key    string
}

// PutObject makes an object that fits into one request.
func (c creator) PutObject(ctx context.Context, in *s3.PutObjectInput,
	options ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	return create(ctx, c, &in.IfNoneMatch, func() (*s3.PutObjectOutput, error) {
		if body, ok := in.Body.(io.Seeker); ok { // an attempt before has read it
			if _, err := body.Seek(0, io.SeekStart); err != nil {
				return nil, fmt.Errorf("read again what is uploaded: %w", err)
			}
		}
		return c.Client.PutObject(ctx, in, options...)
	})
}

// CompleteMultipartUpload makes an object of the parts that were uploaded.
func (c creator) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput,
	options ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error) {
	return create(ctx, c, &in.IfNoneMatch, func() (*s3.CompleteMultipartUploadOutput, error) {
		return c.Client.CompleteMultipartUpload(ctx, in, options...)
	})
}

func create[Out any](ctx context.Context, c creator, condition **string, write func() (Out, error)) (Out, error) {
	out, err := write()
	if *condition == nil || !isNotImplemented(err) {
		return out, err
	}
	if err := c.bucket.isFree(ctx, c.key); err != nil {
		return out, err
	}
	*condition = nil
	if out, err = write(); err == nil {
		c.bucket.unconditional.Store(true)
	}
	return out, err
}

func isNotImplemented(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusNotImplemented
}

// ForgetUploads has S3 throw away the parts of uploads below a directory that were begun before a time, never ended,
// and are of an object that is ours to judge. They take room, and no list of objects shows them. Other stores have no
// such thing: GCS and Azure throw them away by themselves, and a volume has files for them.
func (b *Bucket) ForgetUploads(ctx context.Context, below string, before time.Time,
	isOurs func(key string) bool) (forgotten int, err error) {
	var client *s3.Client
	if b.s3Bucket == "" || !b.blob.As(&client) {
		return 0, nil
	}
	if err := b.check(below + "/any"); err != nil {
		return 0, err
	}
	prefix := below + "/"
	pages := s3.NewListMultipartUploadsPaginator(client,
		&s3.ListMultipartUploadsInput{Bucket: &b.s3Bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		within, cancel := callContext(ctx)
		page, err := pages.NextPage(within)
		cancel()
		if err != nil {
			return forgotten, fmt.Errorf("list the uploads to %s in the store: %w", below, answered(within, err))
		}
		for _, upload := range page.Uploads {
			if !b.isOld(upload, before) || !isOurs(*upload.Key) {
				continue
			}
			if err := b.forget(ctx, client, *upload.Key, upload.UploadId); err != nil {
				return forgotten, err
			}
			forgotten++
		}
	}
	return forgotten, nil
}

func (b *Bucket) isOld(upload types.MultipartUpload, before time.Time) bool {
	return upload.Key != nil && upload.Initiated != nil && upload.Initiated.Before(before) &&
		b.check(*upload.Key) == nil
}

func (b *Bucket) forget(ctx context.Context, client *s3.Client, key string, upload *string) error {
	ctx, cancel := callContext(ctx)
	defer cancel()
	_, err := client.AbortMultipartUpload(ctx,
		&s3.AbortMultipartUploadInput{Bucket: &b.s3Bucket, Key: &key, UploadId: upload})
	if err != nil {
		return fmt.Errorf("forget an upload to %s in the store: %w", key, answered(ctx, err))
	}
	return nil
}
