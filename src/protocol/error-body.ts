import { z } from 'zod';

/** The body of every answer that is not a success, in every API of the process. */
export const ErrorBody = z
  .object({
    timestamp: z.string(),
    path: z.string(),
    request_id: z.string(),
    statusCode: z.number(),
    message: z.string(),
    validation_errors: z
      .array(z.string())
      .optional()
      .describe('With 400 only. Each begins with the path of the field.'),
  })
  .meta({ id: 'ErrorBody' });
export type ErrorBody = z.infer<typeof ErrorBody>;
