package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
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
		options.APIOptions = append(options.APIOptions, dropChecksums)
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

// dropChecksums takes out the CRC32 that the transfer manager asks for whatever the client is told
// (aws/aws-sdk-go-v2:feature/s3/transfermanager/options.go resolveChecksumAlgorithm): Ceph and other servers refuse the
// trailer it is sent in. What proves an upload is reading it back.
func dropChecksums(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("DropChecksums",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error) {
			switch request := in.Parameters.(type) {
			case *s3.PutObjectInput:
				request.ChecksumAlgorithm = ""
			case *s3.CreateMultipartUploadInput:
				request.ChecksumAlgorithm = ""
			case *s3.UploadPartInput:
				request.ChecksumAlgorithm = ""
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}

// abortGrace is for telling the store to forget the parts of an upload that was given up.
const abortGrace = 5 * time.Second

// tameS3 replaces the transfer manager that gocloud made: the parts of an aborted upload are removed although its
// context has ended, and the first buffer is no larger than the others.
func tameS3(bucket *blob.Bucket, as func(any) bool) {
	var manager *transfermanager.Client
	var client *s3.Client
	if !as(&manager) || !bucket.As(&client) {
		return
	}
	*manager = *transfermanager.New(client, func(options *transfermanager.Options) {
		options.PartSizeBytes = partSize
		options.MultipartUploadThreshold = partSize
		options.Concurrency = uploadConcurrency
		options.FailTimeout = abortGrace
	})
}
