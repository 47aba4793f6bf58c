import { z } from 'zod';
import {
  JobKind,
  JobList,
  JobRecord,
  JobStatus,
  LiveJobList,
  LiveJobRecord,
  PatchLiveRequest,
  PreRecordedJobList,
  PreRecordedJobRecord,
} from '../job.ts';
import { InitStreamingResponse, Region, StreamingRequest } from '../live-request.ts';
import {
  InitPreRecordedResponse,
  PreRecordedRequest,
  UploadByUrlRequest,
  UploadedFile,
} from '../pre-recorded.ts';
import { answer, json, type RouteAnswer, type Parameter, type Route } from './route.ts';

const live = 'Live transcription';
const jobs = 'Pre-recorded transcription';
const audio: RouteAnswer = {
  description: 'The audio.',
  content: { 'application/octet-stream': 'binary' },
};
const rangeHeader: Parameter = {
  name: 'range',
  description: 'A part of the file.',
  schema: z.string(),
};

const listQuery: Parameter[] = [
  { name: 'offset', description: 'First item.', schema: z.int().min(0).default(0) },
  {
    name: 'limit',
    description: 'Items on a page; 100 at most.',
    schema: z.int().min(1).default(20),
  },
  { name: 'status', description: 'May be repeated.', schema: z.array(JobStatus) },
  { name: 'date', description: 'Created on that UTC day.', schema: z.iso.date() },
  { name: 'before_date', description: 'Created before.', schema: z.iso.datetime() },
  { name: 'after_date', description: 'Created after.', schema: z.iso.datetime() },
  {
    name: 'custom_metadata',
    description:
      'Jobs whose metadata contain these pairs: JSON text, or `custom_metadata[key]=value`.',
    schema: z.string(),
    example: '{"call_id":"c-1881"}',
  },
];

const kind: Parameter = {
  name: 'kind',
  description: 'May be repeated.',
  schema: z.array(JobKind),
};

const uploadedAudio = z
  .object({ audio: z.string().meta({ contentMediaType: 'application/octet-stream' }) })
  .meta({ id: 'UploadForm', description: 'multipart/form-data with the file in `audio`.' });

export const speechRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/v2/live',
    tag: live,
    access: 'key',
    summary: 'Create a live session',
    description:
      'Everything is optional. G.711 (`wav/ulaw`, `wav/alaw`) is 8 bits deep, and that is the default with it.',
    query: [{ name: 'region', description: 'Where to process.', schema: Region }],
    body: json(StreamingRequest, {
      encoding: 'wav/ulaw',
      sample_rate: 8000,
      language_config: { languages: ['en'] },
      realtime_processing: { sentiment_analysis: true, named_entity_recognition: true },
      messages_config: { receive_partial_transcripts: true },
      custom_metadata: { call_id: 'c-1881' },
    }),
    answers: {
      201: answer('The session and the address of its socket.', InitStreamingResponse, {
        id: '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11',
        created_at: '2026-02-03T09:15:00.700Z',
        url: 'ws://127.0.0.1:8080/v2/live?token=Zr7uK2m',
      }),
    },
    errors: [400, 415, 422, 429, 503],
  },
  list('/v2/live', live, 'List live jobs', LiveJobList),
  one('/v2/live/{id}', live, 'Read a live job', LiveJobRecord),
  keep('/v2/live/{id}', live, 'Keep data of the client’s own with a live job'),
  remove('/v2/live/{id}', live, 'Delete a live job, its audio and its transcript'),
  file('/v2/live/{id}/file', live, 'Download the audio of a live job'),

  create('/v2/pre-recorded', 'Create a job from an audio address'),
  list('/v2/pre-recorded', jobs, 'List pre-recorded jobs', PreRecordedJobList),
  one('/v2/pre-recorded/{id}', jobs, 'Read a pre-recorded job', PreRecordedJobRecord),
  keep('/v2/pre-recorded/{id}', jobs, 'Keep data of the client’s own with a job'),
  cancel('/v2/pre-recorded/{id}/cancel'),
  remove('/v2/pre-recorded/{id}', jobs, 'Delete a pre-recorded job and all its data'),
  file('/v2/pre-recorded/{id}/file', jobs, 'Download the audio of a pre-recorded job'),
  {
    method: 'post',
    path: '/v2/upload',
    tag: jobs,
    access: 'key',
    summary: 'Upload a file, or have one fetched',
    description:
      'The form has one file in `audio` and no other part. A file that no job uses is deleted after a day (TRUNKLINE_JOBS_UNUSED_H).',
    body: {
      content: { 'multipart/form-data': uploadedAudio, 'application/json': UploadByUrlRequest },
      examples: { 'application/json': { audio_url: 'https://files.example.com/call-1881.wav' } },
    },
    answers: {
      200: answer('The file and what is known about it.', UploadedFile, {
        audio_url: 'https://stt.example.com/file/0f0e3a67-2f0b-4d4d-9a3c-3a4d2a8f6c55',
        audio_metadata: {
          id: '0f0e3a67-2f0b-4d4d-9a3c-3a4d2a8f6c55',
          filename: 'call-1881.wav',
          extension: 'wav',
          size: 243_244,
          audio_duration: 30.4,
          number_of_channels: 1,
        },
      }),
    },
    errors: [400, 403, 408, 413, 415, 422, 429, 503, 504, 507],
  },
  uploadedFile(),
  {
    method: 'delete',
    path: '/file/{id}',
    tag: jobs,
    access: 'key',
    summary: 'Delete an uploaded file that no job uses',
    description: 'Not part of every service of this interface.',
    answers: { 202: answer('Deleted.') },
    errors: [403, 404],
  },

  deprecated(create('/v2/transcription', 'Create a job from an audio address')),
  deprecated(list('/v2/transcription', jobs, 'List jobs of both kinds', JobList, [kind])),
  deprecated(one('/v2/transcription/{id}', jobs, 'Read a job of either kind', JobRecord)),
  deprecated(keep('/v2/transcription/{id}', jobs, 'Keep data of the client’s own with a job')),
  deprecated(cancel('/v2/transcription/{id}/cancel')),
  deprecated(remove('/v2/transcription/{id}', jobs, 'Delete a job of either kind')),
  deprecated(
    file('/v2/transcription/{id}/file', jobs, 'Download the audio of a job of either kind'),
  ),
];

function create(path: string, summary: string): Route {
  const body = json(PreRecordedRequest, { audio_url: 'https://files.example.com/call.wav' });
  const created = answer('The job and where its result will be.', InitPreRecordedResponse);
  const answers = { 201: created };
  return {
    method: 'post',
    path,
    tag: jobs,
    access: 'key',
    summary,
    body,
    answers,
    errors: [400, 415, 422, 429, 503],
  };
}

function list(
  path: string,
  tag: string,
  summary: string,
  schema: z.ZodType,
  more: Parameter[] = [],
): Route {
  const query = [...listQuery, ...more];
  const answers = { 200: answer('A page of jobs, newest first.', schema) };
  return { method: 'get', path, tag, access: 'key', summary, query, answers, errors: [400] };
}

function one(path: string, tag: string, summary: string, schema: z.ZodType): Route {
  const answers = { 200: answer('The job.', schema) };
  return { method: 'get', path, tag, access: 'key', summary, answers, errors: [404] };
}

function remove(path: string, tag: string, summary: string): Route {
  const answers = { 202: answer('Deleted; nothing of it is left.') };
  const description = 'Only jobs that are done or failed can be deleted.';
  return {
    method: 'delete',
    path,
    tag,
    access: 'key',
    summary,
    description,
    answers,
    errors: [403, 404],
  };
}

/** Our addition: the original API cannot end a waiting or running job. */
function cancel(path: string): Route {
  return {
    method: 'post',
    path,
    tag: jobs,
    access: 'key',
    summary: 'End a job that waits or is worked on',
    description: 'The job ends in error 499. Not part of every service of this interface.',
    answers: { 202: answer('The job has ended.') },
    errors: [403, 404],
  };
}

function keep(path: string, tag: string, summary: string): Route {
  return {
    method: 'patch',
    path,
    tag,
    access: 'key',
    summary,
    body: json(PatchLiveRequest),
    answers: { 204: answer('Kept.') },
    errors: [400, 404, 413],
  };
}

function file(path: string, tag: string, summary: string): Route {
  const headers = { 'accept-ranges': 'bytes' };
  return {
    method: 'get',
    path,
    tag,
    access: 'key',
    summary,
    headers: [rangeHeader],
    answers: {
      200: { ...audio, headers },
      206: { ...audio, description: 'The part that was asked for.', headers },
    },
    errors: [404, 416, 503],
  };
}

function uploadedFile(): Route {
  return {
    ...file('/file/{id}', jobs, 'Download an uploaded file'),
    description:
      'The bytes as they came, as `audio/*` where the name tells of it. HEAD says how many they are.',
  };
}

function deprecated(route: Route): Route {
  return { ...route, deprecated: true };
}
