import express, { type Router } from 'express';
import { Problem } from '../../port/problem.ts';

const paths = /^\/v2\/(?:pre-recorded|upload|transcription)(?:\/.*)?$|^\/file\/.*$/;

/** Routes of the interface that this version does not have answer 501, so that they do not seem mistyped. */
export function notBuilt(): Router {
  const router = express.Router();
  router.all(paths, (request) => {
    const [, , name = 'file'] = request.path.split('/');
    throw new Problem(
      501,
      `${request.path.startsWith('/v2/') ? name : 'uploaded files'}: this part of the interface is not built yet; live sessions are`,
    );
  });
  return router;
}
