import { z } from 'zod';
import { RecogniserConfig, secondReader } from '../hearing/config.ts';

const seconds = (description: string, env: string, fallback: number) =>
  z.number().min(0).max(86_400).default(fallback).meta({ env, description });

/** An endpoint that receives the start and the end of every session, signed by Standard Webhooks. */
const AccountWebhook = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  secret: z.string().min(1).optional(),
});

/** Settings of pre-recorded jobs and of the files they read. */
export const JobsConfig = z.strictObject({
  model: z.string().min(1).optional().meta({
    env: 'TRUNKLINE_JOBS_MODEL',
    description:
      'The model for recordings. `whisper-tiny-en` reads them a second time after the live model, and is the default if it is installed. Name the model of live sessions (TRUNKLINE_MODEL) to use only that.',
  }),
  maxBytes: z.int().min(1_024).max(107_374_182_400).default(1_048_576_000).meta({
    env: 'TRUNKLINE_JOBS_MAX_BYTES',
    description:
      'The largest file that may be uploaded or fetched for a job. A larger one is refused with 413.',
  }),
  storedMaxBytes: z.int().min(1_024).max(1_125_899_906_842_624).default(53_687_091_200).meta({
    env: 'TRUNKLINE_JOBS_STORED_BYTES',
    description:
      'The bytes that all stored files may take on the disk of this node. An upload beyond it is refused with 507.',
  }),
  bucketMaxBytes: z.int().min(1_024).max(1_125_899_906_842_624).default(1_099_511_627_776).meta({
    env: 'TRUNKLINE_JOBS_BUCKET_BYTES',
    description:
      'The bytes that the stored files of all nodes may take in the object store, if one is set. An upload beyond it is refused with 507.',
  }),
  uploads: z.int().min(1).max(1_000).default(16).meta({
    env: 'TRUNKLINE_JOBS_UPLOADS',
    description: 'The number of simultaneous uploads. A further one is refused with 429.',
  }),
  transferS: z.number().min(1).max(86_400).default(1_800).meta({
    env: 'TRUNKLINE_JOBS_TRANSFER_S',
    description: 'The longest time for one upload, or for one fetch of an audio_url.',
  }),
  stallS: z.number().min(1).max(600).default(30).meta({
    env: 'TRUNKLINE_JOBS_STALL_S',
    description: 'An upload or fetch that brings no byte for this long is given up.',
  }),
  unusedH: z.number().min(0.1).max(8_784).default(24).meta({
    env: 'TRUNKLINE_JOBS_UNUSED_H',
    description: 'Files that no job used are deleted this many hours after they were stored.',
  }),
  audioHosts: z.array(z.string().min(1)).default([]).meta({
    env: 'TRUNKLINE_JOBS_AUDIO_HOSTS',
    description: 'Private hosts that an audio_url may lead to; public ones need no entry.',
  }),
  atOnce: z.int().min(1).max(64).default(2).meta({
    env: 'TRUNKLINE_JOBS_AT_ONCE',
    description: 'The number of pre-recorded jobs that this node works on at the same time.',
  }),
  maxQueued: z.int().min(1).max(1_000_000).default(300).meta({
    env: 'TRUNKLINE_JOBS_MAX_QUEUED',
    description:
      'The number of jobs that may wait on all nodes together. A further one is refused with 429.',
  }),
  maxSeconds: z.int().min(1).max(86_400).default(8_100).meta({
    env: 'TRUNKLINE_JOBS_MAX_SECONDS',
    description:
      'The longest audio of a job, in seconds. A job with longer audio ends in error 413.',
  }),
  lostNodeS: z.int().min(300).max(604_800).default(1_800).meta({
    env: 'TRUNKLINE_JOBS_LOST_NODE_S',
    description:
      'A job whose upload is on the disk of another node ends in error 504 if that node has been silent for this long.',
  }),
  usageDays: z.int().min(1).max(3_660).default(400).meta({
    env: 'TRUNKLINE_JOBS_USAGE_DAYS',
    description:
      'The usage of each job (id, times, status, duration) is kept for this many days, even if the job is deleted.',
  }),
});
export type JobsConfig = z.infer<typeof JobsConfig>;

/** Settings of the embedded speech service. The defaults are those that clients of the API expect. */
export const SpeechServiceConfig = z
  .strictObject({
    recogniser: RecogniserConfig.prefault({}),
    maximumSessions: z.int().min(1).max(100_000).default(1_000).meta({
      env: 'TRUNKLINE_SPEECH_SESSIONS',
      description:
        'The number of live sessions that may be open at the same time. A further one is refused with 429.',
    }),
    neverConnectedS: seconds(
      'A live session that no client connects to ends in error 408 after this time.',
      'TRUNKLINE_SPEECH_NEVER_CONNECTED_S',
      300,
    ),
    idleS: seconds(
      'A connected live session that gets no audio for this long is closed with 4408. 0 means never.',
      'TRUNKLINE_SPEECH_IDLE_S',
      30,
    ),
    abandonedS: seconds(
      'A live session that lost its socket can be resumed for this long. Then it is finished as if it was stopped.',
      'TRUNKLINE_SPEECH_ABANDONED_S',
      60,
    ),
    longestS: seconds(
      'The longest live session, counted from its first audio. 0 means no limit.',
      'TRUNKLINE_SPEECH_LONGEST_S',
      10_800,
    ),
    withoutRoomS: seconds(
      'Audio that a full data disk refuses is held in memory for this long, without acknowledgement. Then its live session ends in error.',
      'TRUNKLINE_SPEECH_WITHOUT_ROOM_S',
      120,
    ),
    frameLimitBytes: z.int().min(65_536).max(268_435_456).default(33_554_432).meta({
      env: 'TRUNKLINE_SPEECH_FRAME_BYTES',
      description:
        'The largest WebSocket message from a live client. The limit of a session follows from its resume window: at least 1 MiB, at most this.',
    }),
    backlogS: z.number().min(0.5).max(600).default(10).meta({
      env: 'TRUNKLINE_SPEECH_BACKLOG_S',
      description:
        'Seconds of audio that may wait for the recogniser before the socket is read slowly.',
    }),
    addonDeadlineS: z.number().min(0.1).max(60).default(3).meta({
      env: 'TRUNKLINE_SPEECH_ADDON_S',
      description:
        'An add-on of one utterance that takes longer than this returns its error block.',
    }),
    postDeadlineS: z.number().min(0.1).max(600).default(20).meta({
      env: 'TRUNKLINE_SPEECH_POST_S',
      description: 'Summaries and chapters that take longer than this return their error block.',
    }),
    errorMessages: z.boolean().default(false).meta({
      env: 'TRUNKLINE_SPEECH_ERROR_MESSAGES',
      description:
        'Send stand-alone error messages on live sockets (with receive_errors). Some released clients stop reading at one.',
    }),
    startSessionMessage: z.boolean().default(false).meta({
      env: 'TRUNKLINE_SPEECH_START_MESSAGE',
      description:
        'Send start_session on the socket too. Released SDKs create this message themselves.',
    }),
    refuseTokenWith401: z.boolean().default(false).meta({
      env: 'TRUNKLINE_SPEECH_REFUSE_401',
      description: 'Answer a wrong session token with HTTP 401 instead of close code 4401.',
    }),
    lenient: z.boolean().default(false).meta({
      env: 'TRUNKLINE_SPEECH_LENIENT',
      description:
        'Ignore unknown request fields and repair values that have one sensible meaning.',
    }),
    retentionDays: z.number().min(0).max(366).default(365).meta({
      env: 'TRUNKLINE_SPEECH_RETENTION_DAYS',
      description:
        'Live sessions and pre-recorded jobs are deleted with their audio this many days after they ended.',
    }),
    zeroRetention: z.boolean().default(false).meta({
      env: 'TRUNKLINE_SPEECH_ZERO_RETENTION',
      description:
        'Nothing of a live session is stored. Results are only sent by socket and callback, and are lost with the session.',
    }),
    callbackSecret: z.string().min(1).optional().meta({
      env: 'TRUNKLINE_SPEECH_CALLBACK_SECRET',
      secret: true,
      description: 'Signs callbacks of sessions as Standard Webhooks (`whsec_` + base64).',
    }),
    callbackHosts: z.array(z.string().min(1)).default([]).meta({
      env: 'TRUNKLINE_SPEECH_CALLBACK_HOSTS',
      description: 'Private hosts that callbacks of sessions may go to; public ones need no entry.',
    }),
    jobs: JobsConfig.prefault({}),
    webhooks: z.array(AccountWebhook).default([]).meta({
      secret: true,
      description: 'Account-level webhooks: start and end of each live session (YAML only).',
    }),
  })
  .refine(
    ({ jobs, recogniser }) => [undefined, secondReader, recogniser.model].includes(jobs.model),
    {
      path: ['jobs', 'model'],
      error: `must be ${secondReader}, or the model of live sessions`,
    },
  );
export type SpeechServiceConfig = z.infer<typeof SpeechServiceConfig>;
