import { z } from 'zod';

const single =
  'ACCOUNT_NUMBER AGE DATE DATE_INTERVAL DOB DRIVER_LICENSE DURATION EMAIL_ADDRESS EVENT FILENAME GENDER ' +
  'HEALTHCARE_NUMBER IP_ADDRESS LANGUAGE LOCATION LOCATION_ADDRESS LOCATION_ADDRESS_STREET LOCATION_CITY ' +
  'LOCATION_COORDINATE LOCATION_COUNTRY LOCATION_STATE LOCATION_ZIP MARITAL_STATUS MONEY NAME NAME_FAMILY NAME_GIVEN ' +
  'NAME_MEDICAL_PROFESSIONAL NUMERICAL_PII OCCUPATION ORGANIZATION ORGANIZATION_MEDICAL_FACILITY ORIGIN ' +
  'PASSPORT_NUMBER PASSWORD PHONE_NUMBER PHYSICAL_ATTRIBUTE POLITICAL_AFFILIATION RELIGION SEXUALITY SSN TIME URL ' +
  'USERNAME VEHICLE_ID ZODIAC_SIGN BLOOD_TYPE CONDITION DOSE DRUG INJURY MEDICAL_PROCESS STATISTICS BANK_ACCOUNT ' +
  'CREDIT_CARD CREDIT_CARD_EXPIRATION CVV ROUTING_NUMBER CORPORATE_ACTION DAY EFFECT FINANCIAL_METRIC MEDICAL_CODE ' +
  'MONTH ORGANIZATION_ID PRODUCT PROJECT TREND YEAR';

/** The types an entity can have (notes 5.4). */
export const entityTypes: readonly string[] = single.split(' ');

const id7 = words(
  'DOB DRIVER_LICENSE EMAIL_ADDRESS HEALTHCARE_NUMBER IP_ADDRESS PASSPORT_NUMBER SSN',
);
const loc5 = words(
  'LOCATION_ADDRESS LOCATION_ADDRESS_STREET LOCATION_CITY LOCATION_COORDINATE LOCATION_ZIP',
);
const nam4 = words('NAME NAME_FAMILY NAME_GIVEN NAME_MEDICAL_PROFESSIONAL');
const pay4 = words('BANK_ACCOUNT CREDIT_CARD CREDIT_CARD_EXPIRATION CVV');
const med5 = words('BLOOD_TYPE CONDITION DRUG INJURY MEDICAL_PROCESS');

const gdpr = [
  ...[...id7, ...loc5, ...nam4, ...pay4, ...med5],
  ...words('AGE LANGUAGE LOCATION LOCATION_COUNTRY LOCATION_STATE NUMERICAL_PII PHONE_NUMBER'),
  ...words('URL USERNAME VEHICLE_ID'),
];

/**
 * A preset's name stands for a set of types. CORE_ENTITIES and LIDI have no published contents: ours follow
 * the notes' recommendation, and NUMERICAL_EXCL_PCI is what is a number and no payment card.
 */
export const entityPresets: Readonly<Record<string, readonly string[]>> = {
  APPI: [
    ...[...id7, ...loc5, ...nam4, ...pay4],
    ...words('AGE DRUG LOCATION LOCATION_COUNTRY LOCATION_STATE NUMERICAL_PII OCCUPATION'),
    ...words('ORGANIZATION ORGANIZATION_MEDICAL_FACILITY PASSWORD PHONE_NUMBER VEHICLE_ID'),
  ],
  APPI_SENSITIVE: words(
    'CONDITION DRUG GENDER INJURY LANGUAGE MARITAL_STATUS MEDICAL_PROCESS ORIGIN PHYSICAL_ATTRIBUTE ' +
      'POLITICAL_AFFILIATION RELIGION SEXUALITY',
  ),
  CCI: [
    ...pay4,
    ...words('ACCOUNT_NUMBER DATE DATE_INTERVAL DRUG EMAIL_ADDRESS FILENAME LOCATION'),
    ...words('LOCATION_ADDRESS LOCATION_ADDRESS_STREET LOCATION_CITY LOCATION_COUNTRY'),
    ...words('LOCATION_STATE LOCATION_ZIP MEDICAL_PROCESS MONEY NUMERICAL_PII OCCUPATION'),
    ...words('ORGANIZATION PASSWORD ROUTING_NUMBER TIME URL VEHICLE_ID'),
  ],
  CORE_ENTITIES: [...id7, ...loc5, ...nam4, ...pay4, 'PHONE_NUMBER'],
  CPRA: [
    ...[...id7, ...loc5, ...nam4, ...pay4, ...med5],
    ...words('GENDER NUMERICAL_PII ORIGIN PASSWORD PHONE_NUMBER PHYSICAL_ATTRIBUTE'),
    ...words('POLITICAL_AFFILIATION RELIGION SEXUALITY URL USERNAME VEHICLE_ID'),
  ],
  GDPR: gdpr,
  GDPR_SENSITIVE: words(
    'GENDER LANGUAGE ORIGIN PHYSICAL_ATTRIBUTE POLITICAL_AFFILIATION RELIGION SEXUALITY',
  ),
  HEALTH_INFORMATION: [...med5, 'DOSE', 'STATISTICS'],
  HIPAA_SAFE_HARBOR: [
    ...[...id7, ...loc5, ...nam4, ...pay4],
    ...words(
      'ACCOUNT_NUMBER AGE DATE DATE_INTERVAL LOCATION NUMERICAL_PII PHONE_NUMBER URL VEHICLE_ID',
    ),
  ],
  LIDI: gdpr,
  NUMERICAL_EXCL_PCI: words(
    'ACCOUNT_NUMBER NUMERICAL_PII SSN DRIVER_LICENSE HEALTHCARE_NUMBER PASSPORT_NUMBER PHONE_NUMBER VEHICLE_ID',
  ),
  PCI: [...pay4, 'ROUTING_NUMBER'],
  QUEBEC_PRIVACY_ACT: [
    ...[...id7, ...loc5, ...nam4, ...pay4, ...med5],
    ...words('AGE DATE DATE_INTERVAL NUMERICAL_PII OCCUPATION ORGANIZATION'),
    ...words(
      'ORGANIZATION_MEDICAL_FACILITY ORIGIN PHONE_NUMBER POLITICAL_AFFILIATION RELIGION STATISTICS',
    ),
  ],
};

export const PiiEntityType = z
  .enum([...entityTypes, ...Object.keys(entityPresets)])
  .meta({
    id: 'PiiEntityType',
    description: 'One type, or a preset that stands for a set of them.',
  });

/** The single types that a request's names stand for, each once. */
export function expandEntityTypes(names: readonly string[]): string[] {
  return [...new Set(names.flatMap((name) => entityPresets[name] ?? [name]))];
}

/** What a redaction marker calls a type (notes 5.4): `[NAME_1]`, `[EMAIL_1]`, else the type's name. */
export function markerLabel(entityType: string): string {
  if (['NAME', 'NAME_GIVEN', 'NAME_FAMILY'].includes(entityType)) return 'NAME';
  return entityType === 'EMAIL_ADDRESS' ? 'EMAIL' : entityType;
}

function words(text: string): string[] {
  return text.split(' ');
}
